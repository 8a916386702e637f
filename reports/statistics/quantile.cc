// Location statistics of a sample.
#include "reports/statistics/quantile.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace thinpipe {

double mean(std::span<const double> values) {
  assert(!values.empty());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double quantile(std::span<const double> values, double q) {
  assert(!values.empty() && q >= 0 && q <= 1);
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

double median(std::span<const double> values) { return quantile(values, 0.5); }

double geometric_mean(std::span<const double> values) {
  assert(!values.empty());
  double sum = 0;
  for (const double value : values) {
    assert(value > 0);
    sum += std::log(value);
  }
  return std::exp(sum / static_cast<double>(values.size()));
}

std::vector<double> running_mean(std::span<const double> values, std::size_t window) {
  assert(window >= 1);
  std::vector<double> means;
  means.reserve(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t count = std::min(i + 1, window);
    means.push_back(mean(values.subspan(i + 1 - count, count)));
  }
  return means;
}

}  // namespace thinpipe
