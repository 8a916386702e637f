#include "netem/verify_topology.h"

#include "netem/measure_flows.h"

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

}  // namespace

std::vector<ProbeCheck> verify_topology(Network& network, const LinkSpec& link,
                                        const TopologyCheckOptions& options) {
  constexpr double kDoublings = 20;  // of the window, each a round trip
  network.set_links(link, options.time_scale);
  const Topology& topology = network.topology();
  std::vector<ProbeCheck> checks;
  for (LinkProbe& probe : link_probes(topology)) {
    ProbeCheck check;
    check.link = topology.link_name(probe.hop.link);
    check.spec = topology.link(probe.hop.link).to_string();
    check.round_trip_set = path_round_trip(network, probe.flows[0]);
    check.round_trip = measure_round_trip(network, probe.flows[0], options.pings);
    const double settle =
        limited_at_sender(topology, probe) ? options.settle : options.settle_behind_switch;
    for (const FlowFigures& flow : measure_flows(
             network, probe.flows,
             {.settle = settle + kDoublings * check.round_trip_set, .seconds = options.seconds}))
      check.goodput += flow.goodput;
    check.probe = std::move(probe);
    checks.push_back(std::move(check));
  }
  return checks;
}

}  // namespace thinpipe
