// A network as plain data: hosts, switches and links, groups of equal links, and whether the
// switches form a tree. Network builds the network; nothing in this folder uses the kernel.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "netem/link/link_spec.h"

namespace thinpipe {

/// Returns the number of a host, switch, trunk or link as an index.
inline std::size_t as_index(int number) { return static_cast<std::size_t>(number); }

/// Greatest number of hosts, servers included. All hosts are on the control network's bridge, which
/// has at most 1023 ports. `--ranks` has the same limit.
inline constexpr int kMaxHosts = 1000;

/// A host and its access link.
struct TopologyHost {
  std::string name;  ///< the hostname: "host0"
  std::string role;  ///< "server" or ""
  int at = 0;        ///< the switch of its access link
  LinkSpec link;     ///< the uplink is from the host to its switch
};

/// A link between two switches.
struct Trunk {
  int a = 0, b = 0;  ///< switches
  LinkSpec link;     ///< the uplink is from a to b
  int other(int end) const { return end == a ? b : a; }
};

/// Hosts, switches and trunks by index. Links are numbered too: first the access link of every
/// host, in the order of the hosts, then the trunks.
struct Topology {
  std::string text;  ///< canonical text of its spec
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
  /// Returns the links that a name means: `host3`, `host4-7`, a trunk's name, `rack0` for
  /// `rack0-spine`, `hosts` for the links of all hosts, or `trunks` for all trunks.
  /// @throws InputError with the known names, if no link has this name.
  std::vector<int> links_named(const std::string& name) const;
};

/// Consecutive hosts of one switch with equal links and roles.
struct HostRun {
  int first = 0, last = 0;
  int count() const { return last - first + 1; }
};

/// Returns the hosts of a switch in order, as runs of consecutive hosts with equal links and roles.
/// If the switch has at most `most_single` hosts, every host is a run of its own.
std::vector<HostRun> host_runs(const Topology& topology, int switch_index, int most_single);

/// Returns "host0" or "host0 … host3", and the role, if any: "host4 (server)".
std::string run_name(const Topology& topology, const HostRun& run);

/// The links with equal settings.
struct LinkClass {
  LinkSpec link;
  int hosts = 0, trunks = 0;  ///< number of access links and of trunks
};
/// Link classes, the most common first. class_of[link] is an index into classes.
struct LinkClasses {
  std::vector<LinkClass> classes;
  std::vector<int> class_of;
};
LinkClasses link_classes(const Topology& topology);

/// Returns true if exactly one path connects every two switches of a connected topology.
bool is_tree(const Topology& topology);
/// Returns the switch with the smallest distance, in trunks, to the switch farthest from it; among
/// several, the one with the fewest hosts.
int central_switch(const Topology& topology);

}  // namespace thinpipe
