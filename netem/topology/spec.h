// A topology spec as users write it: a kind with its settings, or a file of switches and links.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "netem/topology/link_change.h"
#include "netem/topology/topology.h"

namespace thinpipe {

/// `racks:racks=2,oversubscription=4,host3=(rate=10mbit)`, or the statements of a file. The run's
/// link (--link) and, unless a file places them, the number of hosts are arguments of plan().
/// docs/topologies.md describes the grammar.
struct TopologySpec {
  std::string kind = "star";                  ///< a name of topology_kinds(), or "file"
  std::map<std::string, std::string> values;  ///< settings that the user gave
  std::map<std::string, LinkChange> links;    ///< settings of links that the user gave
  /// Links that differ, by the name of a host, hosts (`host4-7`), a trunk or a rack. They are
  /// applied in this order.
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

  /// Plans the network for `hosts` hosts. `link` applies to the hosts in star, racks and ps,
  /// between sites in wan, and to every link without settings in a file.
  /// @throws InputError when the topology does not fit the number of hosts, or for an unknown name.
  Topology plan(int hosts, const LinkSpec& link) const;
};

/// Parses the text of a flag: a kind, the statements of a file, or a file's path.
/// @throws InputError naming the text (or file and line), what was found and what is expected.
TopologySpec parse_topology(std::string_view text);

}  // namespace thinpipe
