#include "netem/topology/flows.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"

namespace thinpipe {
namespace {

// The trunks of a path, sorted by index, highest first. The shorter of two paths is better. Between
// equally long paths, the one with the lexicographically smaller list of indices is better. Adding
// the same trunk to two paths does not change which is better, so all switches agree on the routes.
// The list does not depend on the path's direction, so forward and reverse paths are the same.
struct Path {
  bool known = false;
  std::vector<int> trunks;
};

bool better(const Path& a, const Path& b) {
  if (a.known != b.known) return a.known;
  if (a.trunks.size() != b.trunks.size()) return a.trunks.size() < b.trunks.size();
  return a.trunks < b.trunks;
}

// Returns for every switch the trunk towards `to`.
std::vector<int> trunks_towards(const Topology& topology, int to) {
  std::vector<Path> paths(topology.switches.size());
  std::vector<int> next(topology.switches.size(), -1);
  paths[as_index(to)].known = true;
  for (bool changed = true; changed;) {  // Bellman and Ford: at most one round per switch
    changed = false;
    for (std::size_t i = 0; i < topology.trunks.size(); ++i)
      for (const auto& [from, via] : {std::pair{topology.trunks[i].a, topology.trunks[i].b},
                                      std::pair{topology.trunks[i].b, topology.trunks[i].a}}) {
        if (!paths[as_index(via)].known) continue;
        Path path = paths[as_index(via)];
        const int trunk = static_cast<int>(i);
        path.trunks.insert(
            std::upper_bound(path.trunks.begin(), path.trunks.end(), trunk, std::greater<>()),
            trunk);
        if (!better(path, paths[as_index(from)])) continue;
        paths[as_index(from)] = std::move(path);
        next[as_index(from)] = trunk;
        changed = true;
      }
  }
  return next;
}

LinkSpec directed(const Topology& topology, int link) {
  return topology.is_trunk(link) ? as_trunk(topology.link(link)) : topology.link(link);
}

}  // namespace

Routes::Routes(const Topology& topology) : topology_(topology) {
  for (int to = 0; to < static_cast<int>(topology.switches.size()); ++to)
    next_.push_back(trunks_towards(topology, to));
}

int Routes::next_trunk(int from, int to) const { return next_[as_index(to)][as_index(from)]; }

std::vector<Hop> Routes::path(int from_host, int to_host) const {
  std::vector<Hop> hops = {{from_host, true}};
  const int to = topology_.hosts[as_index(to_host)].at;
  for (int here = topology_.hosts[as_index(from_host)].at; here != to;) {
    const int index = next_trunk(here, to);
    const Trunk& trunk = topology_.trunks[as_index(index)];
    hops.push_back({static_cast<int>(topology_.hosts.size()) + index, trunk.a == here});
    here = trunk.other(here);
  }
  hops.push_back({to_host, false});
  return hops;
}

void Routes::check_connected() const {
  for (std::size_t from = 1; from < next_.size(); ++from)
    if (next_[0][from] < 0)
      throw InputError(fmt::format("{} and {} are not connected", topology_.switches[from],
                                   topology_.switches[0]));
}

double rate_of(const LinkSpec& link, bool up) { return up ? link.up.rate : link.down.rate; }

LinkSpec as_trunk(const LinkSpec& link) {
  LinkSpec both = link;
  both.trunk = true;
  if (both.up.impairment.none()) both.up.impairment = both.down.impairment;
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
    figures.delay += in_seconds(direction.impairment.delay);
    figures.queue += direction.rate > 0 ? direction.queue : 0;
    figures.disturbed = figures.disturbed || direction.impairment.disturbs();
    if (direction.rate == 0) continue;
    const double goodput = direction.rate * payload / (frame + direction.overhead);
    if (figures.narrowest >= 0 && goodput >= figures.goodput) continue;
    figures.rate = direction.rate;
    figures.goodput = goodput;
    figures.overhead = direction.overhead;
    figures.narrowest = hop.link;
  }
  return figures;
}

double payload_of_ack(const PathFigures& path) {
  return 8.0 * (kAckFrame + path.overhead) * path.goodput / path.rate;
}

bool limited_at_sender(const Topology& topology, const std::vector<Hop>& path) {
  const int own = path.front().link;
  return figures_of(topology, path).narrowest == own && topology.link(own).place == Place::kSender;
}

double round_trip_of(const Topology& topology, const Routes& routes, const Flow& flow) {
  return figures_of(topology, routes.path(flow.from, flow.to)).delay +
         figures_of(topology, routes.path(flow.to, flow.from)).delay;
}

std::vector<double> fair_rates(const Topology& topology,
                               const std::vector<std::vector<Hop>>& flows) {
  struct Load {
    double left = 0;  // bit/s that are not allocated yet
    int flows = 0;    // flows that are not settled yet
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
    // Settles the flows of the tightest link, and deducts their rates from their other links.
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

std::vector<double> fair_goodputs(const Topology& topology,
                                  const std::vector<std::vector<Hop>>& flows) {
  std::vector<double> goodputs = fair_rates(topology, flows);
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (goodputs[i] <= 0) continue;
    const PathFigures path = figures_of(topology, flows[i]);
    goodputs[i] *= path.goodput / path.rate;
  }
  return goodputs;
}

double exchange_goodput(const Topology& topology) {
  constexpr int kMaxOfAllPairs = 64;  // 4032 flows
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
  if (hosts <= kMaxOfAllPairs)
    for (const double goodput : fair_goodputs(topology, paths))
      if (goodput > 0) slowest = std::min(slowest, goodput * (hosts - 1));
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
      longest = std::max(longest, round_trip_of(topology, routes, {from, to}));
  return longest;
}

}  // namespace thinpipe
