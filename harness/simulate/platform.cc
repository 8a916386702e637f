#include "harness/simulate/platform.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "harness/predict/network_model.h"
#include "netem/topology/flows.h"

namespace thinpipe {
namespace {

SimulatedLink one_way(const LinkSpec& link, bool up) {
  const LinkFigures figures = direction_figures(link, up);
  return {.rate = figures.beta > 0 ? 1 / figures.beta : 0,
          .delay = figures.alpha,
          .credit = figures.credit};
}

void add_link(const LinkSpec& link, SimulatedNetwork& network) {
  network.links.push_back(one_way(link, true));
  network.links.push_back(one_way(link, false));
}

}  // namespace

SimulatedNetwork simulated_network(const TopologySpec& topology, const LinkSpec& link, int hosts,
                                   double message_time) {
  SimulatedNetwork network{.hosts = hosts, .message_time = message_time};
  if (topology.is_star()) {
    for (int host = 0; host < hosts; ++host) add_link(link, network);
    return network;
  }
  const auto planned = std::make_shared<const Topology>(topology.plan(hosts, link));
  // Hosts are the first links of a topology, then trunks.
  for (const LinkSpec& one : links_as_set(*planned)) add_link(one, network);
  const auto routes = std::make_shared<const Routes>(*planned);
  network.path = [planned, routes](int from, int to) {
    std::vector<int> links;
    for (const Hop& hop : routes->path(from, to)) links.push_back(2 * hop.link + (hop.up ? 0 : 1));
    return links;
  };
  return network;
}

}  // namespace thinpipe
