#include "netem/topology/routes.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "base/error.h"

namespace thinpipe {

namespace {

// The trunks of a way, highest index first. Shorter ways come first, then those whose highest
// trunks are lower: an order that stays when both ways go on over the same trunk, so all switches
// agree, and that does not ask in which direction the way is gone.
struct Way {
  bool known = false;
  std::vector<int> trunks;
};

bool better(const Way& a, const Way& b) {
  if (a.known != b.known) return a.known;
  if (a.trunks.size() != b.trunks.size()) return a.trunks.size() < b.trunks.size();
  return a.trunks < b.trunks;
}

std::size_t as_index(int index) { return static_cast<std::size_t>(index); }

// For every switch the trunk towards `to`.
std::vector<int> trunks_towards(const Topology& topology, int to) {
  std::vector<Way> ways(topology.switches.size());
  std::vector<int> next(topology.switches.size(), -1);
  ways[as_index(to)].known = true;
  for (bool changed = true; changed;) {  // Bellman and Ford: at most a round a switch
    changed = false;
    for (std::size_t i = 0; i < topology.trunks.size(); ++i)
      for (const auto& [from, via] : {std::pair{topology.trunks[i].a, topology.trunks[i].b},
                                      std::pair{topology.trunks[i].b, topology.trunks[i].a}}) {
        if (!ways[as_index(via)].known) continue;
        Way way = ways[as_index(via)];
        const int trunk = static_cast<int>(i);
        way.trunks.insert(
            std::upper_bound(way.trunks.begin(), way.trunks.end(), trunk, std::greater<>()), trunk);
        if (!better(way, ways[as_index(from)])) continue;
        ways[as_index(from)] = std::move(way);
        next[as_index(from)] = trunk;
        changed = true;
      }
  }
  return next;
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
    here = trunk.a == here ? trunk.b : trunk.a;
  }
  hops.push_back({to_host, false});
  return hops;
}

void Routes::check_connected() const {
  for (std::size_t from = 1; from < next_.size(); ++from)
    if (next_[0][from] < 0)
      throw InputError(fmt::format("no links lead from {} to {}", topology_.switches[from],
                                   topology_.switches[0]));
}

}  // namespace thinpipe
