#include "netem/topology/groups.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "netem/topology/routes.h"

namespace thinpipe {

namespace {

bool alike(const TopologyHost& a, const TopologyHost& b) {
  return a.link == b.link && a.role == b.role;
}

}  // namespace

std::vector<HostRun> host_runs(const Topology& topology, int switch_index, int most_single) {
  std::vector<HostRun> runs;
  const bool single = topology.hosts_at(switch_index) <= most_single;
  for (int i = 0; i < static_cast<int>(topology.hosts.size()); ++i) {
    const TopologyHost& host = topology.hosts[static_cast<std::size_t>(i)];
    if (host.at != switch_index) continue;
    if (!single && !runs.empty() && runs.back().last == i - 1 &&
        alike(topology.hosts[static_cast<std::size_t>(i - 1)], host))
      runs.back().last = i;
    else
      runs.push_back({i, i});
  }
  return runs;
}

std::string run_name(const Topology& topology, const HostRun& run) {
  const TopologyHost& first = topology.hosts[static_cast<std::size_t>(run.first)];
  const std::string role = first.role.empty() ? "" : " (" + first.role + ")";
  if (run.count() == 1) return first.name + role;
  return fmt::format("{} … {}{}", first.name,
                     topology.hosts[static_cast<std::size_t>(run.last)].name, role);
}

LinkClasses link_classes(const Topology& topology) {
  LinkClasses result;
  for (int i = 0; i < topology.links(); ++i) {
    const LinkSpec& link = topology.link(i);
    auto found = std::find_if(result.classes.begin(), result.classes.end(),
                              [&](const LinkClass& known) { return known.link == link; });
    if (found == result.classes.end()) found = result.classes.insert(found, {link, 0, 0});
    ++(topology.is_trunk(i) ? found->trunks : found->hosts);
  }
  std::stable_sort(result.classes.begin(), result.classes.end(),
                   [](const LinkClass& a, const LinkClass& b) {
                     return a.hosts + a.trunks > b.hosts + b.trunks;
                   });
  for (int i = 0; i < topology.links(); ++i) {
    const auto found =
        std::find_if(result.classes.begin(), result.classes.end(),
                     [&](const LinkClass& known) { return known.link == topology.link(i); });
    result.class_of.push_back(static_cast<int>(found - result.classes.begin()));
  }
  return result;
}

bool is_tree(const Topology& topology) {
  return topology.trunks.size() + 1 == topology.switches.size();
}

int central_switch(const Topology& topology) {
  const Routes routes(topology);
  const int switches = static_cast<int>(topology.switches.size());
  const auto distance = [&](int from, int to) {
    int trunks = 0;
    for (; from != to; ++trunks) {
      const Trunk& trunk = topology.trunks[static_cast<std::size_t>(routes.next_trunk(from, to))];
      from = trunk.a == from ? trunk.b : trunk.a;
    }
    return trunks;
  };
  std::tuple<int, int, int> best = {switches, 0, 0};  // farthest, hosts, index
  for (int i = 0; i < switches; ++i) {
    int farthest = 0;
    for (int other = 0; other < switches; ++other)
      farthest = std::max(farthest, distance(i, other));
    best = std::min(best, {farthest, topology.hosts_at(i), i});
  }
  return std::get<2>(best);
}

}  // namespace thinpipe
