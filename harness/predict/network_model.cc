#include "harness/predict/network_model.h"

#include <algorithm>
#include <limits>

namespace thinpipe {

namespace {

constexpr double kAcknowledgementBytes = 66;  // Ethernet, IPv4, TCP with timestamps
constexpr double kFramesAcknowledged = 2;     // by one of them (RFC 1122, 4.2.3.2)
constexpr double kGsoPacket = 68130;          // bytes that the kernel hands down as one

double slower(const Direction& up, const Direction& down) {
  if (up.rate == 0) return down.rate;
  if (down.rate == 0) return up.rate;
  return std::min(up.rate, down.rate);
}

// Bytes of payload that a direction has saved up.
double saved(const Direction& direction, const LinkSpec& link) {
  if (direction.rate == 0) return std::numeric_limits<double>::infinity();
  if (direction.shaper == Shaper::kNetem) return 0;
  return static_cast<double>(direction.burst) * link.payload_bytes() / link.frame_bytes();
}

double beta_of(double goodput, const LinkSpec& link, const MachineFigures& machine) {
  return goodput > 0 ? 8 / goodput * (1 + acknowledgement_share(link)) * machine.slower : 0;
}

double finite(double credit) { return credit < std::numeric_limits<double>::max() ? credit : 0; }

}  // namespace

double acknowledgement_share(const LinkSpec& link) {
  const LinkSpec filled = link.with_defaults();
  const double burst = std::min(filled.up.rate > 0 ? filled.up.burst : filled.down.burst,
                                filled.down.rate > 0 ? filled.down.burst : filled.up.burst);
  const bool single = link.needs_single_frames() || burst < kGsoPacket;
  return single ? kAcknowledgementBytes / (kFramesAcknowledged * link.frame_bytes()) : 0;
}

LinkFigures star_figures(const LinkSpec& link, const MachineFigures& machine) {
  const LinkSpec filled = link.with_defaults();
  const double rate = slower(filled.up, filled.down);
  const double credit = std::min(saved(filled.up, link), saved(filled.down, link));
  return {.alpha = link.delay() + machine.message_time,
          .beta = rate > 0 ? beta_of(link.tcp_ceiling(), link, machine) : 0,
          .credit = finite(credit)};
}

LinkFigures network_figures(const Topology& topology, const std::vector<Flow>& flows,
                            const MachineFigures& machine) {
  const Routes routes(topology);
  std::vector<std::vector<Hop>> paths;
  LinkFigures figures;
  double credit = std::numeric_limits<double>::infinity();
  for (const Flow& flow : flows) {
    paths.push_back(routes.path(flow.from, flow.to));
    figures.alpha += figures_of(topology, paths.back()).delay / static_cast<double>(flows.size());
  }
  figures.alpha += machine.message_time;
  const std::vector<double> rates = fair_rates(topology, paths);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (rates[i] <= 0) continue;
    const PathFigures path = figures_of(topology, paths[i]);
    const LinkSpec narrowest = topology.link(path.narrowest).with_defaults();
    const double payload = path.goodput / path.rate;
    figures.beta = std::max(figures.beta, beta_of(rates[i] * payload, narrowest, machine));
    for (const Hop& hop : paths[i]) {
      const LinkSpec link = topology.link(hop.link).with_defaults();
      credit = std::min(credit, saved(hop.up ? link.up : link.down, link));
    }
  }
  figures.credit = finite(credit);
  return figures;
}

std::vector<Flow> ring_flows(int ranks) {
  std::vector<Flow> flows;
  if (ranks < 2) return flows;
  for (int i = 0; i < ranks; ++i) flows.push_back({i, (i + 1) % ranks});
  return flows;
}

LinkFigures ring_figures(const TopologySpec& topology, const LinkSpec& link, int ranks,
                         const MachineFigures& machine) {
  if (topology.is_star()) return star_figures(link, machine);
  return network_figures(topology.plan(ranks, link), ring_flows(ranks), machine);
}

}  // namespace thinpipe
