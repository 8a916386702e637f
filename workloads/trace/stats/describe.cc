#include "workloads/trace/stats/describe.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace thinpipe {

GradientDistribution describe(std::span<const float> values, std::vector<float>& descending) {
  GradientDistribution result;
  descending.clear();
  descending.reserve(values.size());
  double sum = 0, sum_magnitude = 0, sum_log = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) {
      ++result.non_finite;
      continue;
    }
    const double magnitude = std::fabs(static_cast<double>(value));
    descending.push_back(std::fabs(value));
    sum += static_cast<double>(value);
    sum_magnitude += magnitude;
    if (value == 0) {
      ++result.zeros;
    } else {
      sum_log += std::log(magnitude);
    }
  }
  result.elements = descending.size();
  const auto n = static_cast<double>(result.elements);
  result.mean = sum / n;
  result.mean_magnitude = sum_magnitude / n;
  result.mean_log = sum_log / (n - static_cast<double>(result.zeros));

  double second = 0, third = 0, fourth = 0, magnitude_second = 0, square = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const double x = static_cast<double>(value) - result.mean;
    second += x * x;
    third += x * x * x;
    fourth += x * x * x * x;
    const double magnitude = std::fabs(static_cast<double>(value));
    magnitude_second += (magnitude - result.mean_magnitude) * (magnitude - result.mean_magnitude);
    square += magnitude * magnitude;
  }
  const double variance = second / n;
  result.deviation = std::sqrt(variance);
  result.skewness = third / n / (variance * result.deviation);
  result.excess_kurtosis = fourth / n / (variance * variance) - 3;
  result.magnitude_variance = magnitude_second / n;
  result.l2 = std::sqrt(square);

  std::sort(descending.begin(), descending.end(), std::greater<>());
  for (std::size_t i = 0; i < kMagnitudeLevels.size(); ++i) {
    if (descending.empty()) {
      result.quantiles[i] = std::numeric_limits<double>::quiet_NaN();
      continue;
    }
    const auto rank = static_cast<std::size_t>(std::ceil(kMagnitudeLevels[i] * n));
    result.quantiles[i] = descending[descending.size() - std::max<std::size_t>(rank, 1)];
  }
  return result;
}

}  // namespace thinpipe
