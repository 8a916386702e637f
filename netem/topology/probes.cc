#include "netem/topology/probes.h"

#include <algorithm>
#include <set>

#include "netem/topology/groups.h"

namespace thinpipe {

namespace {

constexpr std::size_t kMostFlows = 16;  // enough for 16:1, and few enough to start together
constexpr double kFull = 0.999;         // rates are doubles

struct Candidate {
  Flow flow;
  std::vector<Hop> path;
  PathFigures figures;
};

// All paths over the hop, the fastest first.
std::vector<Candidate> candidates_over(const Topology& topology, const Routes& routes,
                                       const Hop& hop) {
  std::vector<Candidate> result;
  const int hosts = static_cast<int>(topology.hosts.size());
  for (int from = 0; from < hosts; ++from)
    for (int to = 0; to < hosts; ++to) {
      if (from == to) continue;
      std::vector<Hop> path = routes.path(from, to);
      if (std::find(path.begin(), path.end(), hop) == path.end()) continue;
      const PathFigures figures = figures_of(topology, path);
      if (!figures.disturbed) result.push_back({{from, to}, std::move(path), figures});
    }
  std::stable_sort(result.begin(), result.end(), [](const Candidate& a, const Candidate& b) {
    return a.figures.goodput > b.figures.goodput;
  });
  return result;
}

double sum_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum;
}

// Adds flow after flow, each between hosts that have none, until the hop is full or no more helps.
LinkProbe probe_of(const Topology& topology, const Routes& routes, const Hop& hop) {
  LinkProbe probe{hop, {}, 0, false};
  const double wanted = kFull * rate_of(topology.link(hop.link), hop.up);
  const bool at_host = !topology.is_trunk(hop.link);
  std::set<int> senders, receivers;
  std::vector<std::vector<Hop>> paths;
  double reached = 0;
  for (const Candidate& one : candidates_over(topology, routes, hop)) {
    if (probe.flows.size() == kMostFlows || probe.fills) break;
    const bool sender_is_free = (at_host && hop.up) || !senders.contains(one.flow.from);
    const bool receiver_is_free = (at_host && !hop.up) || !receivers.contains(one.flow.to);
    if (!sender_is_free || !receiver_is_free) continue;
    paths.push_back(one.path);
    const std::vector<double> rates = fair_rates(topology, paths);
    if (sum_of(rates) < reached * (2 - kFull)) {
      paths.pop_back();
      continue;
    }
    reached = sum_of(rates);
    probe.fills = reached >= wanted;
    probe.flows.push_back(one.flow);
    senders.insert(one.flow.from);
    receivers.insert(one.flow.to);
  }
  const std::vector<double> rates = fair_rates(topology, paths);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const PathFigures figures = figures_of(topology, paths[i]);
    probe.goodput += rates[i] * figures.goodput / figures.rate;
  }
  return probe;
}

}  // namespace

std::vector<LinkProbe> link_probes(const Topology& topology, bool each_way) {
  const Routes routes(topology);
  const LinkClasses classes = link_classes(topology);
  std::set<std::pair<int, bool>> seen;
  std::vector<LinkProbe> probes;
  for (int i = 0; i < topology.links(); ++i) {
    const bool trunk = topology.is_trunk(i);
    if (!seen.insert({classes.class_of[static_cast<std::size_t>(i)], trunk}).second) continue;
    Direction up_shape = topology.link(i).up, down_shape = topology.link(i).down;
    up_shape.way = down_shape.way = {};  // a delay makes no other goodput
    for (const bool up : {true, false}) {
      if (rate_of(topology.link(i), up) == 0) continue;
      if (!up && up_shape == down_shape && !each_way) continue;
      LinkProbe probe = probe_of(topology, routes, {i, up});
      if (!probe.flows.empty()) probes.push_back(std::move(probe));
    }
  }
  return probes;
}

}  // namespace thinpipe
