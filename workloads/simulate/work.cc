#include "workloads/simulate/work.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <numeric>

#include "workloads/collectives/collectives.h"

namespace thinpipe {

double SimulatedExchange::mean(int ranks) const {
  const auto known = std::min<std::ptrdiff_t>(std::ssize(bytes), ranks);
  if (known == 0) return 0;
  return std::accumulate(bytes.begin(), bytes.begin() + known, 0.0) / static_cast<double>(known);
}

std::string why_not_simulated(const Spec& collective, Exchange operation, int ranks) {
  const CollectiveInfo& info = find_collective(collective.name);
  if (operation != Exchange::kPushPull && !info.over_transport())
    return "Open MPI's own code cannot run on a simulated network";
  const bool planned =
      operation == Exchange::kAllReduce   ? info.reduce && info.reduce->plan != nullptr
      : operation == Exchange::kAllGather ? info.gather && info.gather->plan != nullptr
                                          : false;
  if (planned || ranks <= kMaxUnfoldedRanks) return "";
  return "the lengths of its messages depend on their contents, which only up to " +
         std::to_string(kMaxUnfoldedRanks) + " simulated ranks have";
}

}  // namespace thinpipe
