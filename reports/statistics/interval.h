// 95 % confidence intervals of medians and of ratios of medians.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace thinpipe {

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

/// Of at least one sample. `stream` numbers independent measurements: the same stream gives the
/// same draws, so that a report made twice from the same records is the same.
BootstrappedMedian bootstrap_median(const Repeats& repeats, std::uint64_t stream);

/// The median of all samples, of at least one. One repeat: with the exact interval. Several: with
/// the percentile interval of `bootstrapped`, which is made of the same repeats.
Estimate median_of(const Repeats& repeats, const BootstrappedMedian& bootstrapped);

/// numerator / denominator, both positive, with the percentile interval of the resampled ratios; no
/// interval when a side has too few samples.
Estimate ratio_of_medians(const BootstrappedMedian& numerator,
                          const BootstrappedMedian& denominator);

}  // namespace thinpipe
