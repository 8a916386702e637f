#include "netem/verify/verify_topology.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>

#include "netem/topology/topology.h"
#include "netem/verify/expected.h"
#include "netem/verify/measure_flows.h"

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

// Returns true if the bottleneck is a sender's uplink, which pushes back on TCP. All other links
// drop excess frames.
bool limited_at_sender(const Topology& topology, const LinkProbe& probe) {
  return !topology.is_trunk(probe.hop.link) && probe.hop.up;
}

// Attempts to measure both directions at the same time. TCP's window grows slowly if ACKs queue
// behind data, so each further attempt waits longer before it measures. A link that is really too
// slow fails in all attempts.
constexpr int kAttempts = 3;
constexpr double kSettleMore = 1;  // s
constexpr double kLow = 0.97;      // of the ceiling

std::optional<BidirectionalGoodput> both_once(const Network& network, const LinkProbe& probe,
                                              const FlowOptions& options) {
  std::vector<Flow> flows = probe.flows;
  std::vector<std::vector<Hop>> reversed;
  for (const auto& [from, to] : probe.flows) {
    flows.push_back({to, from});
    reversed.push_back(network.routes().path(to, from));
  }
  BidirectionalGoodput both{0,  probe.goodput, 0, goodput_of(network.topology(), reversed),
                            {}, false};
  if (both.reverse_ceiling == 0) return std::nullopt;
  const MeasuredFlows measured = measure_flows(network, flows, options);
  const std::vector<FlowFigures>& figures = measured.flows;
  both.machine = measured.machine;
  const LinkSpec& link = network.topology().link(probe.hop.link);
  both.backpressure = probe.fills && probe.flows.size() == 1 &&
                      limited_at_sender(network.topology(), probe) && !drops_at_switch(link);
  // Bits of payload that an ACK displaces.
  const double displaced = 8.0 * kAckFrame * link.payload_bytes() / link.frame_bytes();
  for (std::size_t i = 0; i < probe.flows.size(); ++i) {
    const FlowFigures &forward = figures[i], &reverse = figures[probe.flows.size() + i];
    both.forward += forward.goodput;
    both.reverse += reverse.goodput;
    both.forward_ceiling -= reverse.acks * displaced;
    both.reverse_ceiling -= forward.acks * displaced;
  }
  return both;
}

std::optional<BidirectionalGoodput> measure_both(const Network& network, const LinkProbe& probe,
                                                 FlowOptions options) {
  std::optional<BidirectionalGoodput> both;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    options.settle += kSettleMore;
    both = both_once(network, probe, options);
    if (!both || !both->backpressure ||
        (both->forward > kLow * both->forward_ceiling &&
         both->reverse > kLow * both->reverse_ceiling))
      break;
  }
  return both;
}

}  // namespace

std::vector<LinkProbe> link_probes(const Topology& topology, bool each_way) {
  const Routes routes(topology);
  const LinkClasses classes = link_classes(topology);
  std::set<std::pair<int, bool>> seen;
  std::vector<LinkProbe> probes;
  for (int i = 0; i < topology.links(); ++i) {
    const bool trunk = topology.is_trunk(i);
    if (!seen.insert({classes.class_of[as_index(i)], trunk}).second) continue;
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

std::vector<ProbeCheck> verify_topology(Network& network, const LinkSpec& link,
                                        const TopologyCheckOptions& options) {
  constexpr double kDoublings = 20;  // of the congestion window, each takes an RTT
  // s of settling if the bottleneck is a switch's port: slow start then ends in drops, and TCP
  // needs time to recover.
  constexpr double kSettleAtPort = 2;
  network.set_links(link, options.time_scale);
  const Topology& topology = network.topology();
  std::vector<ProbeCheck> checks;
  std::vector<LinkProbe> probes = link_probes(topology);
  for (LinkProbe& probe : probes) {
    ProbeCheck check;
    check.link = topology.link_name(probe.hop.link);
    if (options.progress)
      options.progress(check.link,
                       static_cast<double>(checks.size()) / static_cast<double>(probes.size()));
    check.spec = topology.link(probe.hop.link).to_string();
    const Flow& flow = probe.flows[0];
    check.round_trip_set =
        network.figures(flow).delay + network.figures({flow.to, flow.from}).delay;
    check.round_trip = measure_round_trip(network, flow, options.pings);
    const double settle = limited_at_sender(topology, probe) ? options.settle : kSettleAtPort;
    const FlowOptions flows{.settle = settle + kDoublings * check.round_trip_set,
                            .seconds = options.seconds,
                            .awake = true};
    const MeasuredFlows measured = measure_flows(network, probe.flows, flows);
    for (const FlowFigures& one : measured.flows) check.goodput += one.goodput;
    check.disturbed = measured.machine.reason();
    if (options.both && probe.hop.up) check.both = measure_both(network, probe, flows);
    if (check.both && check.disturbed.empty()) check.disturbed = check.both->machine.reason();
    check.probe = std::move(probe);
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace thinpipe
