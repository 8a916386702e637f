// What both drawings need: hosts that are alike, links that are alike, whether switches form a
// tree.
#pragma once

#include <string>
#include <vector>

#include "netem/topology/topology.h"

namespace thinpipe {

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
