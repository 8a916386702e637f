// Location and spread that a few late timers do not move.
#pragma once

#include <algorithm>
#include <vector>

namespace thinpipe {

/// The p-quantile (0 to 1) of the values, which must not be none; the nearest below.
inline double quantile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(p * static_cast<double>(values.size() - 1))];
}

inline double median(const std::vector<double>& values) { return quantile(values, 0.5); }

}  // namespace thinpipe
