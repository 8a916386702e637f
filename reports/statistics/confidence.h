// Means with the interval that error bars are drawn from.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "reports/statistics/interval.h"

namespace thinpipe {

/// A mean and, of two values or more, an interval that holds the mean of their distribution with
/// `confidence`: mean +- t s / sqrt(n), by Student's t with n - 1 degrees of freedom.
struct MeanInterval {
  std::size_t samples = 0;
  double mean = 0;
  std::optional<Interval> interval;
};

/// What SIDCo's figures 1(c), 3, 5, 6 and 9 draw at k-hat / k.
inline constexpr double kSidcoConfidence = 0.9;

/// Of the values that are numbers; nothing without any. 0 < confidence < 1.
std::optional<MeanInterval> mean_interval(std::span<const double> values, double confidence);

/// Below this many samples no 95 % interval is told: of two, Student's is 12.7 standard errors wide.
inline constexpr std::size_t kFewestForMean = 3;

/// The mean of at least one sample and its 95 % interval: outcomes of a training with several seeds.
Estimate mean_of_samples(std::span<const double> samples);

}  // namespace thinpipe
