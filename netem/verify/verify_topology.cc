#include "netem/verify/verify_topology.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>

#include "netem/topology/topology.h"
#include "netem/verify/judge.h"

namespace thinpipe {
namespace {

constexpr std::size_t kMaxFlows = 16;  // enough for 16:1, and few enough to start together
constexpr double kFull = 0.999;        // 1 up to rounding

struct Candidate {
  Flow flow;
  std::vector<Hop> path;
  PathFigures figures;
};

// Returns all paths over the hop, the fastest first.
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

// Returns the TCP ceiling of concurrent flows in bit/s of payload; 0 if one may lose frames.
double goodput_of(const Topology& topology, const std::vector<std::vector<Hop>>& paths) {
  const std::vector<double> rates = fair_rates(topology, paths);
  double goodput = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const PathFigures figures = figures_of(topology, paths[i]);
    if (figures.disturbed || figures.rate == 0) return 0;
    goodput += rates[i] * figures.goodput / figures.rate;
  }
  return goodput;
}

// Returns a probe that should fill the hop. Adds flows between hosts without a flow, until the
// flows fill the hop or further flows do not raise their total rate.
LinkProbe probe_of(const Topology& topology, const Routes& routes, const Hop& hop) {
  LinkProbe probe{hop, {}, 0, false};
  const double wanted = kFull * rate_of(topology.link(hop.link), hop.up);
  const bool at_host = !topology.is_trunk(hop.link);
  std::set<int> senders, receivers;
  std::vector<std::vector<Hop>> paths;
  double reached = 0;
  for (const Candidate& one : candidates_over(topology, routes, hop)) {
    if (probe.flows.size() == kMaxFlows || probe.fills) break;
    const bool sender_is_free = (at_host && hop.up) || !senders.contains(one.flow.from);
    const bool receiver_is_free = (at_host && !hop.up) || !receivers.contains(one.flow.to);
    if (!sender_is_free || !receiver_is_free) continue;
    paths.push_back(one.path);
    const std::vector<double> rates = fair_rates(topology, paths);
    const double sum = std::accumulate(rates.begin(), rates.end(), 0.0);
    if (sum < reached * (2 - kFull)) {
      paths.pop_back();
      continue;
    }
    reached = sum;
    probe.fills = reached >= wanted;
    probe.flows.push_back(one.flow);
    senders.insert(one.flow.from);
    receivers.insert(one.flow.to);
  }
  probe.goodput = goodput_of(topology, paths);
  return probe;
}

std::vector<Flow> with_reverse(const std::vector<Flow>& flows) {
  std::vector<Flow> all = flows;
  for (const auto& [from, to] : flows) all.push_back({to, from});
  return all;
}

bool all_limited_at_sender(const Topology& topology, const Routes& routes,
                           const std::vector<Flow>& flows) {
  return std::all_of(flows.begin(), flows.end(), [&](const Flow& flow) {
    return limited_at_sender(topology, routes.path(flow.from, flow.to));
  });
}

// Attempts to measure a goodput. TCP may not have recovered from lost frames yet. At a switch's
// port, all frames that wait behind a lost frame also arrive at once, as if the link were faster.
// If ACKs queue behind data, TCP's window grows slowly. So each further attempt waits longer before
// it measures, and the last attempt counts. A link with a wrong rate fails in all attempts.
constexpr int kGoodputAttempts = 3;
constexpr double kSettleMore = 1;  // s, of each attempt for both directions

// Sets the goodput of the probe's flows.
void measure_one_way(const Network& network, FlowOptions options, ProbeCheck& check) {
  for (int attempt = 0; attempt < kGoodputAttempts; ++attempt) {
    const MeasuredFlows measured = measure_flows(network, check.probe.flows, options);
    check.goodput = 0;
    for (const FlowFigures& one : measured.flows) check.goodput += one.goodput;
    check.disturbed = measured.machine.reason();
    if (std::fabs(check.deviation()) <= kCeilingTolerance) return;
    options.settle *= 2;
  }
}

std::optional<BidirectionalGoodput> both_once(const Network& network, const LinkProbe& probe,
                                              const FlowOptions& options) {
  const Topology& topology = network.topology();
  std::vector<std::vector<Hop>> reversed;
  for (const auto& [from, to] : probe.flows) reversed.push_back(network.routes().path(to, from));
  BidirectionalGoodput both;
  both.forward_ceiling = probe.goodput;
  both.reverse_ceiling = goodput_of(topology, reversed);
  both.backpressure = pushes_back(topology, network.routes(), probe);
  if (both.reverse_ceiling == 0) return std::nullopt;
  const MeasuredFlows measured = measure_flows(network, with_reverse(probe.flows), options);
  both.machine = measured.machine;
  // An ACK that reports lost frames (SACK) is up to 28 bytes longer than kAckFrame, so the ceilings
  // are up to 2 % too high while TCP recovers. Without drops there are no such ACKs.
  for (std::size_t i = 0; i < probe.flows.size(); ++i) {
    const FlowFigures& forward = measured.flows[i];
    const FlowFigures& reverse = measured.flows[probe.flows.size() + i];
    both.forward += forward.goodput;
    both.reverse += reverse.goodput;
    both.forward_ceiling -= reverse.acks * payload_of_ack(network.figures(probe.flows[i]));
    both.reverse_ceiling -= forward.acks * payload_of_ack(figures_of(topology, reversed[i]));
  }
  return both;
}

// Returns true if a further attempt may bring the goodput closer to its ceiling.
bool misses_ceiling(const BidirectionalGoodput& both) {
  const auto [low, high] =
      std::minmax({both.forward / both.forward_ceiling, both.reverse / both.reverse_ceiling});
  return high > 1 + kCeilingTolerance || (both.backpressure && low < 1 - kCeilingTolerance);
}

std::optional<BidirectionalGoodput> measure_both(const Network& network, const LinkProbe& probe,
                                                 FlowOptions options) {
  std::optional<BidirectionalGoodput> both;
  for (int attempt = 0; attempt < kGoodputAttempts; ++attempt) {
    options.settle += kSettleMore;
    both = both_once(network, probe, options);
    if (!both || !misses_ceiling(*both)) break;
  }
  return both;
}

// Returns the first host link and the first trunk of every setting.
std::vector<int> distinct_links(const Topology& topology) {
  const LinkClasses classes = link_classes(topology);
  std::set<std::pair<int, bool>> seen;
  std::vector<int> links;
  for (int i = 0; i < topology.links(); ++i)
    if (seen.insert({classes.class_of[as_index(i)], topology.is_trunk(i)}).second)
      links.push_back(i);
  return links;
}

}  // namespace

std::vector<LinkProbe> link_probes(const Topology& topology, bool each_way) {
  const Routes routes(topology);
  std::vector<LinkProbe> probes;
  for (const int i : distinct_links(topology)) {
    Direction up_shape = topology.link(i).up, down_shape = topology.link(i).down;
    up_shape.impairment = down_shape.impairment = {};  // a delay does not change the ceiling
    for (const bool up : {true, false}) {
      if (rate_of(topology.link(i), up) == 0) continue;
      if (!up && up_shape == down_shape && !each_way) continue;
      LinkProbe probe = probe_of(topology, routes, {i, up});
      if (!probe.flows.empty()) probes.push_back(std::move(probe));
    }
  }
  return probes;
}

std::vector<std::string> links_without_probe(const Topology& topology) {
  const std::vector<LinkProbe> probes = link_probes(topology);
  std::vector<std::string> names;
  for (const int link : distinct_links(topology))
    if (topology.link(link).throttled() &&
        std::ranges::none_of(probes, [&](const LinkProbe& one) { return one.hop.link == link; }))
      names.push_back(topology.link_name(link));
  return names;
}

bool pushes_back(const Topology& topology, const Routes& routes, const LinkProbe& probe) {
  return probe.fills && probe.flows.size() == 1 &&
         all_limited_at_sender(topology, routes, with_reverse(probe.flows));
}

FlowOptions flow_options(const Topology& topology, const Routes& routes, const LinkProbe& probe,
                         const TopologyCheckOptions& options, bool both) {
  constexpr double kDoublings = 20;  // of the congestion window, each takes an RTT
  // s of settling if the bottleneck is a switch's port: slow start then ends in drops, and TCP
  // needs time to recover.
  constexpr double kSettleAtPort = 2;
  // Least number of frames in a measurement, so that one frame more or less is 1 %. The tolerance
  // of goodput is 3 %.
  constexpr double kMinMeasuredFrames = 100;
  const bool at_senders =
      all_limited_at_sender(topology, routes, both ? with_reverse(probe.flows) : probe.flows);
  const double settle = at_senders ? options.settle : std::max(options.settle, kSettleAtPort);
  const double frame_bits = 8.0 * topology.link(probe.hop.link).frame_bytes();
  return {.settle = settle + kDoublings * round_trip_of(topology, routes, probe.flows[0]),
          .seconds = std::max(options.seconds, kMinMeasuredFrames * frame_bits / probe.goodput),
          .awake = true};
}

std::vector<ProbeCheck> verify_topology(Network& network, const LinkSpec& link,
                                        const TopologyCheckOptions& options) {
  network.set_links(link, options.time_scale);
  const Topology& topology = network.topology();
  const Routes& routes = network.routes();
  std::vector<ProbeCheck> checks;
  const std::vector<LinkProbe> probes = link_probes(topology);
  for (const LinkProbe& probe : probes) {
    ProbeCheck check;
    check.probe = probe;
    check.link = topology.link_name(probe.hop.link);
    if (options.progress)
      options.progress(check.link,
                       static_cast<double>(checks.size()) / static_cast<double>(probes.size()));
    check.spec = topology.link(probe.hop.link).to_string();
    check.round_trip_set = round_trip_of(topology, routes, probe.flows[0]);
    check.round_trip = measure_round_trip(network, probe.flows[0], options.pings);
    measure_one_way(network, flow_options(topology, routes, probe, options, false), check);
    if (options.both && probe.hop.up)
      check.both =
          measure_both(network, probe, flow_options(topology, routes, probe, options, true));
    if (check.both && check.disturbed.empty()) check.disturbed = check.both->machine.reason();
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace thinpipe
