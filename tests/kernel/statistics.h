// Spread of a sample, and how far a sample may be off by chance.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "base/statistics.h"

namespace thinpipe {

/// Tests that allow five standard deviations fail by chance once in 1.7 million.
inline constexpr double kSigmas = 5;

/// Standard deviation without the `trim` share of values farthest out at either end.
inline double deviation(std::vector<double> values, double trim = 0) {
  std::sort(values.begin(), values.end());
  const auto cut = static_cast<std::ptrdiff_t>(trim * static_cast<double>(values.size()));
  const std::vector<double> kept(values.begin() + cut, values.end() - cut);
  const double middle = mean(kept);
  double sum = 0;
  for (const double value : kept) sum += (value - middle) * (value - middle);
  return std::sqrt(sum / static_cast<double>(kept.size() - 1));
}

/// Correlation of each value with the one before.
inline double autocorrelation(const std::vector<double>& values) {
  const double middle = mean(values);
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) products += (values[i] - middle) * (values[i - 1] - middle);
    squares += (values[i] - middle) * (values[i] - middle);
  }
  return products / squares;
}

/// The most by which the number of successes among n, each with probability p, is off by chance.
inline double binomial_band(double n, double p) { return kSigmas * std::sqrt(n * p * (1 - p)); }

/// Greatest distance between the values' empirical distribution and `cumulative` (Kolmogorov and
/// Smirnov).
inline double distance(std::vector<double> values,
                       const std::function<double(double)>& cumulative) {
  std::sort(values.begin(), values.end());
  const auto count = static_cast<double>(values.size());
  double most = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double expected = cumulative(values[i]);
    most = std::max({most, expected - static_cast<double>(i) / count,
                     static_cast<double>(i + 1) / count - expected});
  }
  return most;
}

/// What that distance exceeds by chance as seldom as five standard deviations (Massart 1990:
/// P(D > d) <= 2 exp(-2 n d^2)).
inline double distance_band(double n) { return std::sqrt(std::log(2 / 5.7e-7) / (2 * n)); }

}  // namespace thinpipe
