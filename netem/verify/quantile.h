// Location of a sample.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace thinpipe {

/// The p-quantile, 0 to 1, of at least one value, between neighbours by a straight line.
inline double quantile(std::vector<double> values, double p) {
  std::sort(values.begin(), values.end());
  const double place = p * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (place - static_cast<double>(below));
}

inline double median_of(std::vector<double> values) { return quantile(std::move(values), 0.5); }

}  // namespace thinpipe
