#include "harness/bench/timed.h"

#include <algorithm>
#include <limits>

#include "harness/bench/allocations.h"

namespace thinpipe {

double Timing::median() const {
  if (seconds.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> sorted = seconds;
  std::sort(sorted.begin(), sorted.end());
  const std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

std::optional<double> Timing::count_allocations(std::optional<std::uint64_t> before,
                                                std::int64_t calls) {
  if (!before) return std::nullopt;
  const double each = static_cast<double>(*thinpipe::allocations() - *before) /
                      static_cast<double>(std::max<std::int64_t>(1, calls));
  allocations = std::max(allocations, each);
  return each;
}

}  // namespace thinpipe
