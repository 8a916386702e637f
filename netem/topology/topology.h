// A network as plain data: hosts on switches and the links between them, which of them are alike,
// and whether the switches form a tree. Nothing here touches the kernel; Network builds it.
#pragma once

#include <string>
#include <vector>

#include "netem/link/link_spec.h"

namespace thinpipe {

/// Servers among them. The control bridge has at most 1023 ports; `--ranks` takes as many.
inline constexpr int kMostHosts = 1000;

/// A host and its access link.
struct TopologyHost {
  std::string name;  ///< its hostname: "host0"
  std::string role;  ///< "server", or "" for one like all others
  int at = 0;        ///< the switch it hangs on
  LinkSpec link;     ///< up is from the host to its switch
};

/// A link between two switches.
struct Trunk {
  int a = 0, b = 0;  ///< switches
  LinkSpec link;     ///< up is from a to b
};

/// Hosts, switches and trunks by index. Links are numbered too: first the access link of every
/// host, in the order of the hosts, then the trunks.
struct Topology {
  std::string text;  ///< the spec it was planned from, canonical
  std::vector<std::string> switches;
  std::vector<TopologyHost> hosts;
  std::vector<Trunk> trunks;

  int links() const { return static_cast<int>(hosts.size() + trunks.size()); }
  bool is_trunk(int link) const { return link >= static_cast<int>(hosts.size()); }
  const Trunk& trunk_of(int link) const;
  const LinkSpec& link(int index) const;
  LinkSpec& link(int index);
  std::string link_name(int index) const;  ///< "host3", "rack0-spine"
  int hosts_at(int switch_index) const;
  /// The links of a name: `host3`, `host4-7`, that of a trunk, `rack0` for `rack0-spine`, `hosts`
  /// or `trunks` for all of them.
  /// @throws InputError naming what there is, where it is of none.
  std::vector<int> links_named(const std::string& name) const;
};

/// Neighbouring hosts of one switch with one link and one role.
struct HostRun {
  int first = 0, last = 0;
  int count() const { return last - first + 1; }
};

/// The hosts of a switch in order; each on its own when there are at most `most_single`.
std::vector<HostRun> host_runs(const Topology& topology, int switch_index, int most_single);

/// "host0", or "host0 ... host3"; with the role, if there is one.
std::string run_name(const Topology& topology, const HostRun& run);

/// The links with one setting.
struct LinkClass {
  LinkSpec link;
  int hosts = 0, trunks = 0;  ///< how many of each have it
};
/// The most common first; class_of[link] is an index into classes.
struct LinkClasses {
  std::vector<LinkClass> classes;
  std::vector<int> class_of;
};
LinkClasses link_classes(const Topology& topology);

/// No way round: every two switches have one way between them.
bool is_tree(const Topology& topology);
/// The switch that is nearest to the farthest one; of several one with few hosts.
int central_switch(const Topology& topology);

}  // namespace thinpipe
