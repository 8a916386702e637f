// Mean and quantiles of a sample. Every median that thinpipe prints or records comes from here.
#pragma once

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

namespace thinpipe {

/// Returns the arithmetic mean; NaN if empty.
inline double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Returns the q-quantile, 0 <= q <= 1, linear between order statistics: position (n - 1) q
/// (Hyndman & Fan 1996, type 7; the default of R and NumPy). NaN if empty.
inline double quantile(std::span<const double> values, double q) {
  assert(q >= 0 && q <= 1);
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> sorted(values.begin(), values.end());
  const double position = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::ptrdiff_t>(std::floor(position));
  std::nth_element(sorted.begin(), sorted.begin() + below, sorted.end());
  const double low = sorted[static_cast<std::size_t>(below)];
  const double fraction = position - static_cast<double>(below);
  if (fraction == 0) return low;
  const double high = *std::min_element(sorted.begin() + below + 1, sorted.end());
  return low + fraction * (high - low);
}

/// Returns the 0.5-quantile, which is the mean of the two middle values if their number is even.
/// NaN if empty.
inline double median(std::span<const double> values) { return quantile(values, 0.5); }

}  // namespace thinpipe
