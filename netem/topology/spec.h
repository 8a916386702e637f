// A topology as users write it: a kind with its settings, or a file of switches and links.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "netem/topology/link_change.h"
#include "netem/topology/topology.h"

namespace thinpipe {

/// `racks:racks=2,oversubscription=4,host3=(rate=10mbit)`, or the statements of a file. Says
/// nothing of the run's link (--link) and, unless it is of a file, of the number of hosts: plan()
/// joins them. docs/topologies.md describes the grammar.
struct TopologySpec {
  std::string kind = "star";                  ///< a name of topology_kinds(), or "file"
  std::map<std::string, std::string> values;  ///< settings that were given
  std::map<std::string, LinkChange> links;    ///< settings that are links, that were given
  /// Links that differ, by the name of a host, hosts (`host4-7`), a trunk or a rack. In the order
  /// in which they are applied.
  std::vector<std::pair<std::string, LinkChange>> exceptions;

  struct FileSwitch {
    std::string name;
    int hosts = 0;
  };
  struct FileTrunk {
    std::string a, b;
    LinkChange link;  ///< empty: the run's link
  };
  std::vector<FileSwitch> switches;  ///< kind "file" only, as the next
  std::vector<FileTrunk> trunks;

  /// Canonical: parse_topology() reads it back, also that of a file.
  std::string to_string() const;
  bool is_star() const { return to_string() == "star"; }
  /// How many of the hosts are parameter servers, the last ones; 0 but in `ps`.
  int servers() const;
  /// How many hosts a file places; 0 when any number can be.
  int fixed_hosts() const;

  /// The network of so many hosts whose link is `link`: the hosts' own in star, racks and ps, that
  /// between sites in wan, that of every link without a text in a file.
  /// @throws InputError when it cannot be made of so many hosts, or a name in it is of nothing.
  Topology plan(int hosts, const LinkSpec& link) const;
};

/// The text of a flag: a kind, the statements of a file, or else its path.
/// @throws InputError naming the text (or file and line), what was found and what is expected.
TopologySpec parse_topology(std::string_view text);

}  // namespace thinpipe
