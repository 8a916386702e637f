// Means, exact order-statistic intervals and the two-stage percentile bootstrap.
#include "reports/statistics/statistics.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <random>
#include <utility>

namespace thinpipe {
namespace {

constexpr double kTail = 0.025;
constexpr std::uint64_t kSeed = 20240229;  // any fixed seed; see bootstrap_median()

using Generator = std::mt19937_64;

// Returns a uniform random number in [0, n): the high 64 bits of n times a 64-bit random number.
// Its bias is below n / 2^64. (The standard library's distribution differs between platforms, and a
// remainder is slow.)
std::size_t draw(Generator& generator, std::size_t n) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<std::size_t>((static_cast<Wide>(generator()) * n) >> 64);
}

// Draws bootstrap resamples and returns their medians. It does not store the drawn values, but
// counts how often each sample is drawn, by its index among all samples in sorted order. One pass
// over the counts then finds the median of the resample, without sorting the drawn values.
class Resampler {
 public:
  Resampler(const Repeats& repeats, std::vector<double> all)
      : sorted_(std::move(all)), counts_(sorted_.size()) {
    std::sort(sorted_.begin(), sorted_.end());
    for (const std::vector<double>& repeat : repeats) {
      std::vector<std::uint32_t> places;
      for (const double sample : repeat) {
        const auto place = std::lower_bound(sorted_.begin(), sorted_.end(), sample);
        places.push_back(static_cast<std::uint32_t>(place - sorted_.begin()));
      }
      places_.push_back(std::move(places));
    }
  }

  double next_median(Generator& generator) {
    std::fill(counts_.begin(), counts_.end(), 0);
    std::size_t drawn = 0;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      const std::vector<std::uint32_t>& repeat = places_[draw(generator, places_.size())];
      for (std::size_t j = 0; j < repeat.size(); ++j)
        ++counts_[repeat[draw(generator, repeat.size())]];
      drawn += repeat.size();
    }
    return 0.5 * (order_statistic((drawn - 1) / 2) + order_statistic(drawn / 2));
  }

 private:
  double order_statistic(std::size_t index) const {
    std::size_t place = 0;
    for (std::size_t seen = counts_[0]; seen <= index; seen += counts_[place]) ++place;
    return sorted_[place];
  }

  std::vector<double> sorted_;
  std::vector<std::uint32_t> counts_;
  std::vector<std::vector<std::uint32_t>> places_;
};

Interval percentile_interval(const std::vector<double>& values) {
  return {quantile(values, kTail), quantile(values, 1 - kTail)};
}

// Drops repeats without samples, which would be drawn as empty ones.
Repeats without_empty(const Repeats& repeats) {
  Repeats filled;
  std::copy_if(repeats.begin(), repeats.end(), std::back_inserter(filled),
               [](const std::vector<double>& repeat) { return !repeat.empty(); });
  return filled;
}

}  // namespace

double finite_mean(std::span<const double> values) {
  double sum = 0, count = 0;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    sum += value;
    ++count;
  }
  return count == 0 ? std::numeric_limits<double>::quiet_NaN() : sum / count;
}

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

std::vector<double> pooled(const Repeats& repeats) {
  std::vector<double> all;
  for (const std::vector<double>& repeat : repeats)
    all.insert(all.end(), repeat.begin(), repeat.end());
  return all;
}

std::optional<Interval> exact_median_interval(std::span<const double> samples) {
  const std::size_t n = samples.size();
  if (n < kMinForInterval) return std::nullopt;
  // term = P(Binomial(n, 1/2) = j) in logarithms: 2^-n is not a double for n > 1074.
  double log_term = -static_cast<double>(n) * std::log(2.0);
  double below = std::exp(log_term);  // P(Binomial < j + 1)
  std::size_t j = 0;
  while (below <= kTail) {
    ++j;
    log_term += std::log(static_cast<double>(n - j + 1)) - std::log(static_cast<double>(j));
    below += std::exp(log_term);
  }
  std::vector<double> sorted(samples.begin(), samples.end());
  std::sort(sorted.begin(), sorted.end());
  return Interval{sorted[j - 1], sorted[n - j]};
}

BootstrappedMedian bootstrap_median(const Repeats& repeats, std::uint64_t stream) {
  const Repeats filled = without_empty(repeats);
  const std::vector<double> all = pooled(filled);
  BootstrappedMedian result{median(all), {}};
  if (all.size() < kMinForInterval) return result;
  Generator generator(kSeed + stream);
  Resampler resampler(filled, all);
  result.resampled.reserve(kResamplings);
  for (int i = 0; i < kResamplings; ++i)
    result.resampled.push_back(resampler.next_median(generator));
  return result;
}

Estimate median_of(const Repeats& repeats, const BootstrappedMedian& bootstrapped) {
  const Repeats filled = without_empty(repeats);
  Estimate estimate{bootstrapped.value, std::nullopt};
  if (filled.size() == 1) {
    estimate.interval = exact_median_interval(filled[0]);
  } else if (!bootstrapped.resampled.empty()) {
    estimate.interval = percentile_interval(bootstrapped.resampled);
  }
  return estimate;
}

Estimate ratio_of_medians(const BootstrappedMedian& numerator,
                          const BootstrappedMedian& denominator) {
  Estimate estimate{numerator.value / denominator.value, std::nullopt};
  if (numerator.resampled.empty() || denominator.resampled.empty()) return estimate;
  std::vector<double> ratios(numerator.resampled.size());
  for (std::size_t i = 0; i < ratios.size(); ++i)
    ratios[i] = numerator.resampled[i] / denominator.resampled[i];
  estimate.interval = percentile_interval(ratios);
  return estimate;
}

std::optional<MeanInterval> mean_interval(std::span<const double> values, double confidence) {
  std::vector<double> known(values.begin(), values.end());
  std::erase_if(known, [](double value) { return std::isnan(value); });
  if (known.empty()) return std::nullopt;
  MeanInterval result{known.size(), mean(known), std::nullopt};
  if (known.size() == 1 || !std::isfinite(result.mean)) return result;
  const auto n = static_cast<double>(known.size());
  double squares = 0;
  for (const double value : known) squares += (value - result.mean) * (value - result.mean);
  const boost::math::students_t distribution(n - 1);
  const double half =
      boost::math::quantile(distribution, 0.5 + confidence / 2) * std::sqrt(squares / (n - 1) / n);
  result.interval = Interval{result.mean - half, result.mean + half};
  return result;
}

Estimate mean_of_samples(std::span<const double> samples) {
  constexpr double kConfidence = 0.95;
  const std::optional<MeanInterval> found = mean_interval(samples, kConfidence);
  if (!found) return {std::numeric_limits<double>::quiet_NaN(), std::nullopt};
  return {found->mean, found->samples < kMinForMean ? std::nullopt : found->interval};
}

}  // namespace thinpipe
