#include "workloads/collectives/exchange_units.h"

#include <algorithm>
#include <numeric>

namespace thinpipe {

std::vector<int> partition_units(std::span<const std::size_t> elements, int servers,
                                 Partition partition) {
  std::vector<int> server_of(elements.size());
  if (partition == Partition::kRoundRobin) {
    for (std::size_t i = 0; i < elements.size(); ++i)
      server_of[i] = static_cast<int>(i % static_cast<std::size_t>(servers));
    return server_of;
  }
  std::vector<std::size_t> order(elements.size());
  std::iota(order.begin(), order.end(), 0);
  // Ties between units of one size, and between servers of equal load, go to the first.
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return elements[a] > elements[b]; });
  std::vector<std::size_t> load(static_cast<std::size_t>(servers));
  for (const std::size_t unit : order) {
    const auto least = std::min_element(load.begin(), load.end());
    server_of[unit] = static_cast<int>(least - load.begin());
    *least += elements[unit];
  }
  return server_of;
}

}  // namespace thinpipe
