#include "harness/critical_path/link_use.h"

#include <algorithm>

#include "netem/topology/flows.h"

namespace thinpipe {

RateOf rates_as_set(const Topology& topology) {
  return [links = links_as_set(topology)](int link, bool up) {
    return rate_of(links[static_cast<std::size_t>(link)], up);
  };
}

std::vector<LinkUse> link_uses(const WireCount& count, const Topology& topology, const RateOf& rate,
                               double seconds) {
  std::vector<LinkUse> uses;
  if (!count.counted || seconds <= 0) return uses;
  const auto add = [&](int link, std::uint64_t up, std::uint64_t down) {
    double busy = -1;
    if (const double bits = rate(link, true); bits > 0)
      busy = std::max(busy, static_cast<double>(up) * 8 / (bits * seconds));
    if (const double bits = rate(link, false); bits > 0)
      busy = std::max(busy, static_cast<double>(down) * 8 / (bits * seconds));
    if (busy >= 0) uses.push_back({topology.link_name(link), busy});
  };
  const int hosts = static_cast<int>(topology.hosts.size());
  for (int host = 0; host < hosts; ++host) {
    const auto i = static_cast<std::size_t>(host);
    if (i < count.sent_by.size() && i < count.received_by.size())
      add(host, count.sent_by[i], count.received_by[i]);
  }
  for (std::size_t i = 0; i < count.trunks.size() && i < topology.trunks.size(); ++i)
    add(hosts + static_cast<int>(i), count.trunks[i].up, count.trunks[i].down);
  std::stable_sort(uses.begin(), uses.end(),
                   [](const LinkUse& a, const LinkUse& b) { return a.busy > b.busy; });
  return uses;
}

}  // namespace thinpipe
