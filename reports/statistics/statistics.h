// Means, medians and their confidence intervals. mean(), quantile() and median() are those of base.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/statistics.h"

namespace thinpipe {

/// exp(mean of logarithms); of at least one value, all positive.
double geometric_mean(std::span<const double> values);

/// Means of each value and the `window` - 1 before it, of fewer at the beginning; window >= 1.
std::vector<double> running_mean(std::span<const double> values, std::size_t window);

/// Samples of one measurement: one inner vector a repeat, one value a step.
using Repeats = std::vector<std::vector<double>>;

/// The samples of all repeats, in their order.
std::vector<double> pooled(const Repeats& repeats);

struct Interval {
  double low = 0;
  double high = 0;
  bool holds(double value) const { return low <= value && value <= high; }
};

/// A figure and, where the samples allow one, its 95 % interval.
struct Estimate {
  double value = 0;
  std::optional<Interval> interval;
};

/// Below this many samples no interval is given: of 5 samples even the range from the smallest to
/// the largest holds the median with probability 1 - 2/2^5 = 93.75 % only; of 6, with 96.9 %.
inline constexpr std::size_t kFewestForInterval = 6;

/// Resamplings of a bootstrap: the ends of a percentile interval then rest on 50 values each.
inline constexpr int kResamplings = 2000;

/// The exact interval of a median from order statistics: [x(j), x(n+1-j)] with the largest j for
/// which P(Binomial(n, 1/2) < j) <= 2.5 %. It assumes nothing but independent samples of one
/// distribution. None below kFewestForInterval samples.
std::optional<Interval> exact_median_interval(std::span<const double> samples);

/// A median and kResamplings medians of resampled data: draws repeats and then steps within them,
/// because steps of one repeat share its conditions and so count for less than as many independent
/// ones.
struct BootstrappedMedian {
  double value = 0;
  std::size_t samples = 0;
  std::vector<double> resampled;  ///< empty below kFewestForInterval samples
};

/// Needs at least one sample. `stream` numbers independent measurements: the same stream gives the
/// same draws, so that a report made twice from the same records is the same.
BootstrappedMedian bootstrap_median(const Repeats& repeats, std::uint64_t stream);

/// The median of all samples, of at least one. One repeat: with the exact interval. Several: with
/// the percentile interval of `bootstrapped`, which is made of the same repeats.
Estimate median_of(const Repeats& repeats, const BootstrappedMedian& bootstrapped);

/// numerator / denominator, both positive, with the percentile interval of the resampled ratios; no
/// interval when a side has too few samples.
Estimate ratio_of_medians(const BootstrappedMedian& numerator,
                          const BootstrappedMedian& denominator);

/// A mean and, of two values or more, an interval that holds the mean of their distribution with
/// `confidence`: mean +- t s / sqrt(n), by Student's t with n - 1 degrees of freedom.
struct MeanInterval {
  std::size_t samples = 0;
  double mean = 0;
  std::optional<Interval> interval;
};

/// Confidence of SIDCo's figures 1(c), 3, 5, 6 and 9 for k-hat / k.
inline constexpr double kSidcoConfidence = 0.9;

/// Uses the values that are numbers; nothing without any. 0 < confidence < 1.
std::optional<MeanInterval> mean_interval(std::span<const double> values, double confidence);

/// Below this many samples no 95 % interval is told: of two, Student's is 12.7 standard errors
/// wide.
inline constexpr std::size_t kFewestForMean = 3;

/// The mean of at least one sample and its 95 % interval: outcomes of a training with several
/// seeds.
Estimate mean_of_samples(std::span<const double> samples);

}  // namespace thinpipe
