#include "reports/statistics/confidence.h"

#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace thinpipe {

std::optional<MeanInterval> mean_interval(std::span<const double> values, double confidence) {
  MeanInterval result;
  double sum = 0;
  for (const double value : values) {
    if (std::isnan(value)) continue;
    sum += value;
    ++result.samples;
  }
  if (result.samples == 0) return std::nullopt;
  const auto n = static_cast<double>(result.samples);
  result.mean = sum / n;
  if (result.samples == 1 || !std::isfinite(result.mean)) return result;
  double squares = 0;
  for (const double value : values) {
    if (!std::isnan(value)) squares += (value - result.mean) * (value - result.mean);
  }
  const boost::math::students_t distribution(n - 1);
  const double half =
      boost::math::quantile(distribution, 0.5 + confidence / 2) * std::sqrt(squares / (n - 1) / n);
  result.interval = Interval{result.mean - half, result.mean + half};
  return result;
}

Estimate mean_of_samples(std::span<const double> samples) {
  constexpr double kConfidence = 0.95;
  const MeanInterval found = mean_interval(samples, kConfidence).value_or(MeanInterval{});
  return {.value = found.mean,
          .interval = samples.size() < kFewestForMean ? std::nullopt : found.interval};
}

}  // namespace thinpipe
