#include "netem/verify_topology.h"

#include "netem/measure_flows.h"
#include "netem/verify/expected.h"

namespace thinpipe {

namespace {

// A sender's own link pushes back on TCP; every other drops what does not fit.
bool limited_at_sender(const Topology& topology, const LinkProbe& probe) {
  return !topology.is_trunk(probe.hop.link) && probe.hop.up;
}

double path_round_trip(const Network& network, const Flow& flow) {
  const Topology& topology = network.topology();
  return figures_of(topology, network.routes().path(flow.from, flow.to)).delay +
         figures_of(topology, network.routes().path(flow.to, flow.from)).delay;
}

// bit/s of payload that the flows get at most, all at once; 0 when one of them may lose frames.
double goodput_of(const Network& network, const std::vector<Flow>& flows) {
  const Topology& topology = network.topology();
  std::vector<std::vector<Hop>> paths;
  for (const Flow& flow : flows) paths.push_back(network.routes().path(flow.from, flow.to));
  const std::vector<double> rates = fair_rates(topology, paths);
  double goodput = 0;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const PathFigures figures = figures_of(topology, paths[i]);
    if (figures.disturbed || figures.rate == 0) return 0;
    goodput += rates[i] * figures.goodput / figures.rate;
  }
  return goodput;
}

// Where acknowledgements wait behind data, a window grows slowly: so many attempts, each of which
// settles so many s longer. What delivers less fails all of them.
constexpr int kAttempts = 3;
constexpr double kSettleMore = 1;
constexpr double kLow = 0.97;  // of the ceiling

std::optional<BothWays> both_once(const Network& network, const LinkProbe& probe,
                                  const FlowOptions& options) {
  std::vector<Flow> flows, reversed;
  for (const Flow& flow : probe.flows) reversed.push_back({flow.to, flow.from});
  BothWays both{0, probe.goodput, 0, goodput_of(network, reversed), {}, false};
  if (both.back_ceiling == 0) return std::nullopt;
  flows = probe.flows;
  flows.insert(flows.end(), reversed.begin(), reversed.end());
  const MeasuredFlows measured = measure_flows(network, flows, options);
  const std::vector<FlowFigures>& figures = measured.flows;
  both.machine = measured.machine;
  const LinkSpec& link = network.topology().link(probe.hop.link);
  both.held_back = probe.fills && probe.flows.size() == 1 &&
                   limited_at_sender(network.topology(), probe) && !drops_at_switch(link);
  // Payload that would have crossed where acknowledgements did.
  const double instead = 8.0 * kAckFrame * link.payload_bytes() / link.frame_bytes();
  for (std::size_t i = 0; i < probe.flows.size(); ++i) {
    const FlowFigures &there = figures[i], &back = figures[probe.flows.size() + i];
    both.there += there.goodput;
    both.back += back.goodput;
    both.there_ceiling -= back.acks * instead;
    both.back_ceiling -= there.acks * instead;
  }
  return both;
}

std::optional<BothWays> both_ways(const Network& network, const LinkProbe& probe,
                                  FlowOptions options) {
  std::optional<BothWays> both;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    options.settle += kSettleMore;
    both = both_once(network, probe, options);
    if (!both || !both->held_back ||
        (both->there > kLow * both->there_ceiling && both->back > kLow * both->back_ceiling))
      break;
  }
  return both;
}

}  // namespace

std::vector<ProbeCheck> verify_topology(Network& network, const LinkSpec& link,
                                        const TopologyCheckOptions& options) {
  constexpr double kDoublings = 20;  // of the window, each a round trip
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
    check.round_trip_set = path_round_trip(network, probe.flows[0]);
    check.round_trip = measure_round_trip(network, probe.flows[0], options.pings);
    const double settle =
        limited_at_sender(topology, probe) ? options.settle : options.settle_behind_switch;
    const FlowOptions flows{.settle = settle + kDoublings * check.round_trip_set,
                            .seconds = options.seconds,
                            .awake = true};
    const MeasuredFlows measured = measure_flows(network, probe.flows, flows);
    for (const FlowFigures& flow : measured.flows) check.goodput += flow.goodput;
    check.disturbed = measured.machine.reason();
    if (options.both && probe.hop.up) check.both = both_ways(network, probe, flows);
    if (check.both && check.disturbed.empty()) check.disturbed = check.both->machine.reason();
    check.probe = std::move(probe);
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace thinpipe
