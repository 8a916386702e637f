// A topology spec as users write it: a kind with its settings, or a file of switches and links. A
// link inside a topology is a complete link spec, or changes to another link.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "netem/link/link_spec.h"
#include "netem/topology/topology.h"

namespace thinpipe {

/// Settings of a link as users write them: `rate=10mbit,delay=5ms`, in parentheses or not. Unlike
/// in a LinkSpec, a rate may be a multiple of the rate of the run's link, --link (`rate=4x`,
/// `rate=0.1x`). applied_to() takes omitted keys from another link, but not after a preset's name
/// or `unthrottled`, which replace the whole link.
class LinkChange {
 public:
  LinkChange() = default;  ///< changes nothing
  /// @throws InputError as parse_link_spec() does.
  static LinkChange parse(std::string_view text);

  /// Returns `base` with these keys replaced. A key without a direction replaces the values of both
  /// directions. A key for one direction (`up.`, `down.`) overrides the same key without one,
  /// whatever their order.
  /// @param reference  the link that `4x` multiplies
  /// @throws InputError when the result is not a link, such as 4x of a link without a rate.
  LinkSpec applied_to(const LinkSpec& base, const LinkSpec& reference) const;

  /// Returns canonical text: a preset's name first, then rates as LinkSpec prints them, then other
  /// keys in alphabetical order.
  std::string to_string() const;
  bool empty() const { return pairs_.empty(); }

 private:
  using Pairs = std::vector<std::pair<std::string, std::string>>;  ///< a name has an empty value
  Pairs pairs_;
};

/// A topology as users write it: `racks:racks=2,oversubscription=4,host3=(rate=10mbit)`, or the
/// statements of a file. The run's link (--link) and the number of hosts are arguments of plan().
/// docs/topologies.md describes the grammar.
struct TopologySpec {
  std::string kind = "star";                  ///< a name of topology_kinds(), or "file"
  std::map<std::string, std::string> values;  ///< settings that the user gave
  std::map<std::string, LinkChange> links;    ///< settings of links that the user gave
  /// Changes of individual links, each with the name of a host, of several hosts (`host4-7`), of a
  /// trunk or of a rack. The changes are applied in this order.
  std::vector<std::pair<std::string, LinkChange>> exceptions;

  struct FileSwitch {
    std::string name;
    int hosts = 0;
  };
  struct FileTrunk {
    std::string a, b;
    LinkChange link;  ///< empty: the run's link
  };
  std::vector<FileSwitch> switches;  ///< of kind "file" only
  std::vector<FileTrunk> trunks;     ///< of kind "file" only

  /// Returns the canonical text, also of a file. parse_topology() reads the text back.
  std::string to_string() const;
  bool is_star() const { return to_string() == "star"; }
  /// Returns the number of parameter servers, which are the last hosts; 0 except for `ps`.
  int servers() const;
  /// Returns the number of hosts that a file places; 0 if any number is possible.
  int fixed_hosts() const;

  /// Plans the network for `hosts` hosts. In the kinds star, racks and ps, `link` is the hosts'
  /// link; in wan, the link between two sites; in a file, every link without settings.
  /// @throws InputError when the topology does not fit the number of hosts or is not connected, and
  /// for an unknown name in `exceptions`.
  Topology plan(int hosts, const LinkSpec& link) const;
};

/// A setting of a named topology.
struct TopologySetting {
  const char* name;
  const char* default_value;  ///< "" without a default
  const char* help;
};

/// A named topology. Parsing, help and planning all use topology_kinds().
struct TopologyKind {
  const char* name;
  const char* help;
  std::vector<TopologySetting> values;
  std::vector<TopologySetting> links;
  /// Throws InputError for invalid settings.
  void (*check)(const TopologySpec&);
  /// Adds switches, trunks and hosts to the plan. Exceptions are applied afterwards.
  void (*lay_out)(const TopologySpec&, int hosts, const LinkSpec& link, Topology& plan);
};

const std::vector<TopologyKind>& topology_kinds();

/// Returns the kind of this name; null if there is none.
const TopologyKind* find_topology_kind(std::string_view name);

/// Parses the text of a flag: a kind, the statements of a file, or a file's path.
/// @throws InputError naming the text (or file and line), what was found and what is expected.
TopologySpec parse_topology(std::string_view text);

}  // namespace thinpipe
