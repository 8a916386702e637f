#include "netem/topology/topology.h"

#include <algorithm>

#include "netem/topology/flows.h"

namespace thinpipe {

const Trunk& Topology::trunk_of(int link) const {
  return trunks[static_cast<std::size_t>(link) - hosts.size()];
}

const LinkSpec& Topology::link(int index) const {
  return is_trunk(index) ? trunk_of(index).link : hosts[static_cast<std::size_t>(index)].link;
}

LinkSpec& Topology::link(int index) {
  const auto at = static_cast<std::size_t>(index);
  return is_trunk(index) ? trunks[at - hosts.size()].link : hosts[at].link;
}

std::string Topology::link_name(int index) const {
  if (!is_trunk(index)) return hosts[static_cast<std::size_t>(index)].name;
  const Trunk& trunk = trunk_of(index);
  return switches[static_cast<std::size_t>(trunk.a)] + "-" +
         switches[static_cast<std::size_t>(trunk.b)];
}

int Topology::hosts_at(int switch_index) const {
  return static_cast<int>(std::count_if(hosts.begin(), hosts.end(), [&](const TopologyHost& host) {
    return host.at == switch_index;
  }));
}

double Topology::slowest_rate() const {
  double slowest = 0;
  for (int i = 0; i < links(); ++i)
    for (const bool up : {true, false})
      if (const double rate = rate_of(link(i), up); rate > 0)
        slowest = slowest > 0 ? std::min(slowest, rate) : rate;
  return slowest;
}

}  // namespace thinpipe
