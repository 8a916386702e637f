#include "netem/topology/flows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

namespace thinpipe {

namespace {

LinkSpec directed(const Topology& topology, int link) {
  return topology.is_trunk(link) ? as_trunk(topology.link(link)) : topology.link(link);
}

}  // namespace

double rate_of(const LinkSpec& link, bool up) { return up ? link.up.rate : link.down.rate; }

LinkSpec as_trunk(const LinkSpec& link) {
  LinkSpec both = link;
  if (both.up.way.none()) both.up.way = both.down.way;
  return both;
}

PathFigures figures_of(const Topology& topology, const std::vector<Hop>& path) {
  PathFigures figures;
  figures.mtu = std::numeric_limits<std::uint32_t>::max();
  for (const Hop& hop : path) figures.mtu = std::min(figures.mtu, topology.link(hop.link).mtu);
  const double payload = figures.mtu - kTcpHeaders, frame = figures.mtu + kEthernetHeader;
  for (const Hop& hop : path) {
    const LinkSpec link = directed(topology, hop.link).with_defaults();
    const Direction& direction = hop.up ? link.up : link.down;
    figures.delay += std::chrono::duration<double>(direction.way.delay).count();
    figures.queue += direction.rate > 0 ? direction.queue : 0;
    figures.disturbed = figures.disturbed || direction.way.disturbs();
    if (direction.rate == 0) continue;
    const double goodput = direction.rate * payload / (frame + direction.overhead);
    if (figures.narrowest >= 0 && goodput >= figures.goodput) continue;
    figures.rate = direction.rate;
    figures.goodput = goodput;
    figures.narrowest = hop.link;
  }
  return figures;
}

std::vector<double> fair_rates(const Topology& topology,
                               const std::vector<std::vector<Hop>>& flows) {
  struct Load {
    double left = 0;  // bit/s nobody has yet
    int flows = 0;    // that may still take some
  };
  std::map<std::pair<int, bool>, Load> loads;
  for (const std::vector<Hop>& flow : flows)
    for (const Hop& hop : flow)
      if (const double rate = rate_of(topology.link(hop.link), hop.up); rate > 0) {
        Load& load = loads[{hop.link, hop.up}];
        load.left = rate;
        ++load.flows;
      }
  std::vector<double> rates(flows.size(), 0);
  std::vector<bool> settled(flows.size(), false);
  for (;;) {
    // The link whose flows get least: they are settled, and leave the rest of their other links.
    double least = std::numeric_limits<double>::infinity();
    std::pair<int, bool> tightest;
    for (const auto& [link, load] : loads)
      if (load.flows > 0 && load.left / load.flows < least) {
        least = load.left / load.flows;
        tightest = link;
      }
    if (least == std::numeric_limits<double>::infinity()) return rates;
    for (std::size_t i = 0; i < flows.size(); ++i) {
      const auto crosses = [&](const Hop& hop) { return std::pair{hop.link, hop.up} == tightest; };
      if (settled[i] || std::none_of(flows[i].begin(), flows[i].end(), crosses)) continue;
      settled[i] = true;
      rates[i] = least;
      for (const Hop& hop : flows[i])
        if (const auto load = loads.find({hop.link, hop.up}); load != loads.end()) {
          load->second.left = std::max(0.0, load->second.left - least);
          --load->second.flows;
        }
    }
  }
}

double exchange_goodput(const Topology& topology) {
  constexpr int kMostOfAllPairs = 64;  // 4032 flows
  const Routes routes(topology);
  const int hosts = static_cast<int>(topology.hosts.size());
  std::vector<std::vector<Hop>> paths;
  double slowest = std::numeric_limits<double>::infinity();
  for (int from = 0; from < hosts; ++from)
    for (int to = 0; to < hosts; ++to) {
      if (from == to) continue;
      paths.push_back(routes.path(from, to));
      if (const PathFigures figures = figures_of(topology, paths.back()); figures.goodput > 0)
        slowest = std::min(slowest, figures.goodput);
    }
  if (hosts <= kMostOfAllPairs)
    for (const double rate : fair_rates(topology, paths))
      if (rate > 0) slowest = std::min(slowest, tcp_ceiling(rate) * (hosts - 1));
  return std::isfinite(slowest) ? slowest : 0;
}

std::vector<LinkSpec> links_as_set(const Topology& topology) {
  std::vector<LinkSpec> links;
  for (int i = 0; i < topology.links(); ++i) links.push_back(directed(topology, i));
  return links;
}

bool disturbs(const Topology& topology) {
  const std::vector<LinkSpec> links = links_as_set(topology);
  return std::any_of(links.begin(), links.end(),
                     [](const LinkSpec& link) { return link.disturbs(); });
}

double longest_round_trip(const Topology& topology) {
  const Routes routes(topology);
  double longest = 0;
  for (int from = 0; from < static_cast<int>(topology.hosts.size()); ++from)
    for (int to = 0; to < from; ++to)
      longest = std::max(longest, figures_of(topology, routes.path(from, to)).delay +
                                      figures_of(topology, routes.path(to, from)).delay);
  return longest;
}

}  // namespace thinpipe
