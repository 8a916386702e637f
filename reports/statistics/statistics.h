// Means, medians and their confidence intervals. base has mean(), quantile() and median().
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/statistics.h"

namespace thinpipe {

/// Returns the mean of the finite values; NaN without any.
double finite_mean(std::span<const double> values);

/// Returns exp(mean of logarithms) of at least one value, all positive.
double geometric_mean(std::span<const double> values);

/// Returns a running mean: for each value, the mean of this value and the `window` - 1 values
/// before it. At the beginning, fewer values are averaged. window >= 1.
std::vector<double> running_mean(std::span<const double> values, std::size_t window);

/// The samples of one measurement: one inner vector per repeat, one value per step.
using Repeats = std::vector<std::vector<double>>;

/// Returns the samples of all repeats, in their order.
std::vector<double> pooled(const Repeats& repeats);

struct Interval {
  double low = 0;
  double high = 0;
  bool holds(double value) const { return low <= value && value <= high; }
  bool overlaps(const Interval& other) const { return low <= other.high && other.low <= high; }
};

/// A figure and, where the samples allow one, its 95 % interval.
struct Estimate {
  double value = 0;
  std::optional<Interval> interval;

  /// Returns the estimate of an increasing function of the figure.
  template <class Function>
  Estimate mapped(Function function) const {
    Estimate result{function(value), std::nullopt};
    if (interval) result.interval = {function(interval->low), function(interval->high)};
    return result;
  }
};

/// The minimum number of samples for a 95 % interval of the median. With 5 samples, even the range
/// from the smallest to the largest contains the median with a probability of only 1 - 2/2^5 =
/// 93.75 %. With 6 samples, the probability is 96.9 %.
inline constexpr std::size_t kMinForInterval = 6;

/// Resamplings of a bootstrap: 2.5 % of them, 50 values, lie beyond each end of a 95 % interval.
inline constexpr int kResamplings = 2000;

/// Returns the exact interval of a median from order statistics: [x(j), x(n+1-j)] with the largest
/// j for which P(Binomial(n, 1/2) < j) <= 2.5 %. It assumes only independent samples of one
/// distribution. Returns nullopt for fewer than kMinForInterval samples.
std::optional<Interval> exact_median_interval(std::span<const double> samples);

/// A median, and the medians of kResamplings bootstrap resamples. A resample first draws repeats,
/// then steps within each drawn repeat. This order accounts for the fact that steps of one repeat
/// share its conditions and are not independent. An interval of the resampled medians is too narrow
/// for few repeats that differ by more than their steps: within the range of the medians of n
/// repeats, the true median lies with a probability of only 1 - 2/2^n.
struct BootstrappedMedian {
  double value = 0;
  std::vector<double> resampled;  ///< empty below kMinForInterval samples
};

/// Bootstraps the median of at least one sample. `stream` selects the sequence of random numbers;
/// independent measurements have different streams. A stream always gives the same random numbers,
/// so that reports of the same records are equal.
BootstrappedMedian bootstrap_median(const Repeats& repeats, std::uint64_t stream);

/// Returns the median of the samples of all repeats (at least one sample) with its 95 % interval.
/// For one repeat, the interval is exact_median_interval() of its samples. For several repeats, it
/// is the percentile interval of `bootstrapped`, the resampled medians of the same repeats.
Estimate median_of(const Repeats& repeats, const BootstrappedMedian& bootstrapped);

/// Returns numerator / denominator, both positive, with the percentile interval of the resampled
/// ratios; without an interval when a side has too few samples.
Estimate ratio_of_medians(const BootstrappedMedian& numerator,
                          const BootstrappedMedian& denominator);

/// A mean and, of two values or more, its confidence interval: mean +- t s / sqrt(n), by Student's
/// t with n - 1 degrees of freedom.
struct MeanInterval {
  std::size_t samples = 0;
  double mean = 0;
  std::optional<Interval> interval;
};

/// The confidence of SIDCo's figures 1(c), 3, 5, 6 and 9 for k-hat / k.
inline constexpr double kSidcoConfidence = 0.9;

/// Returns the mean of the values that are not NaN, with its interval; nullopt without any such
/// value. 0 < confidence < 1.
std::optional<MeanInterval> mean_interval(std::span<const double> values, double confidence);

/// The fewest samples for which mean_of_samples() gives an interval. With two samples, a 95 %
/// interval would reach 12.7 standard errors to each side.
inline constexpr std::size_t kMinForMean = 3;

/// Returns the mean of the samples that are not NaN, with its 95 % interval from kMinForMean such
/// samples on; NaN without any. The samples are, for example, the results of several seeds.
Estimate mean_of_samples(std::span<const double> samples);

}  // namespace thinpipe
