// Exact order-statistic intervals and the two-stage percentile bootstrap.
#include "reports/statistics/interval.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <random>

#include "reports/statistics/quantile.h"

namespace thinpipe {
namespace {

constexpr double kTail = 0.025;
// Any fixed seed will do: a report made twice from the same records must be the same.
constexpr std::uint64_t kSeed = 20240229;

using Generator = std::mt19937_64;

// Uniform in [0, n). The bias of a 64-bit remainder is below n / 2^64;
// std::uniform_int_distribution would give other numbers with another standard library.
std::size_t draw(Generator& generator, std::size_t n) { return generator() % n; }

std::vector<double> pooled(const Repeats& repeats) {
  std::vector<double> all;
  for (const std::vector<double>& repeat : repeats)
    all.insert(all.end(), repeat.begin(), repeat.end());
  return all;
}

std::vector<double> resample(const Repeats& repeats, Generator& generator) {
  std::vector<double> drawn;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const std::vector<double>& repeat = repeats[draw(generator, repeats.size())];
    for (std::size_t j = 0; j < repeat.size(); ++j) {
      drawn.push_back(repeat[draw(generator, repeat.size())]);
    }
  }
  return drawn;
}

Interval percentile_interval(const std::function<double(Generator&)>& statistic) {
  Generator generator(kSeed);
  std::vector<double> values(kResamplings);
  for (double& value : values) value = statistic(generator);
  return {quantile(values, kTail), quantile(values, 1 - kTail)};
}

// A repeat that lost all its samples would be drawn as an empty one.
Repeats without_empty(const Repeats& repeats) {
  Repeats kept;
  std::copy_if(repeats.begin(), repeats.end(), std::back_inserter(kept),
               [](const std::vector<double>& repeat) { return !repeat.empty(); });
  return kept;
}

}  // namespace

std::optional<Interval> exact_median_interval(std::span<const double> samples) {
  const std::size_t n = samples.size();
  if (n < kFewestForInterval) return std::nullopt;
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

Estimate median_of(const Repeats& repeats) {
  const Repeats kept = without_empty(repeats);
  const std::vector<double> all = pooled(kept);
  Estimate estimate{median(all), std::nullopt};
  if (kept.size() == 1) {
    estimate.interval = exact_median_interval(all);
  } else if (all.size() >= kFewestForInterval) {
    estimate.interval = percentile_interval(
        [&](Generator& generator) { return median(resample(kept, generator)); });
  }
  return estimate;
}

Estimate ratio_of_medians(const Repeats& numerator, const Repeats& denominator) {
  const Repeats above = without_empty(numerator);
  const Repeats below = without_empty(denominator);
  const std::vector<double> all_above = pooled(above);
  const std::vector<double> all_below = pooled(below);
  Estimate estimate{median(all_above) / median(all_below), std::nullopt};
  if (std::min(all_above.size(), all_below.size()) >= kFewestForInterval) {
    estimate.interval = percentile_interval([&](Generator& generator) {
      const double top = median(resample(above, generator));
      return top / median(resample(below, generator));
    });
  }
  return estimate;
}

}  // namespace thinpipe
