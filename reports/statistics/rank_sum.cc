// Mann–Whitney by counting the subsets of ranks that have a sum.
#include "reports/statistics/rank_sum.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <vector>

#include "reports/statistics/quantile.h"
#include "reports/statistics/ranks.h"

namespace thinpipe {
namespace {

constexpr std::size_t kMostExact = 60;

double upper_normal(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

// probability[s]: that so many of `ranks`, drawn without putting back, have the sum s.
std::vector<double> distribution_of_draws(const std::vector<std::size_t>& ranks,
                                          std::size_t draws) {
  const std::size_t most = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  std::vector<std::vector<double>> by_draws(draws + 1, std::vector<double>(most + 1, 0.0));
  by_draws[0][0] = 1;
  std::size_t reached = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    reached += ranks[i];
    // Of subsets of the first i ranks: counts as shares of all of them, so that none overflows.
    const auto seen = static_cast<double>(i + 1);
    for (std::size_t taken = std::min(i + 1, draws);; --taken) {
      const auto share = static_cast<double>(taken) / seen;
      for (std::size_t sum = reached + 1; sum-- > 0;) {
        double value = taken <= i ? by_draws[taken][sum] * (1 - share) : 0;
        if (taken > 0 && sum >= ranks[i]) value += by_draws[taken - 1][sum - ranks[i]] * share;
        by_draws[taken][sum] = value;
      }
      if (taken == 0) break;
    }
  }
  return by_draws[draws];
}

// Of twice the rank sum.
double normal_upper_tail(const std::vector<std::size_t>& ranks, std::size_t draws,
                         std::size_t sum) {
  const auto total = static_cast<double>(ranks.size());
  const auto m = static_cast<double>(draws), n = total - m;
  std::map<std::size_t, double> equal;
  for (const std::size_t rank : ranks) ++equal[rank];
  double ties = 0;
  for (const auto& [rank, count] : equal) ties += count * (count * count - 1);
  const double variance = m * n / 12 * (total + 1 - ties / (total * (total - 1)));
  if (variance <= 0) return 1;
  const double distance = 0.5 * static_cast<double>(sum) - 0.5 * m * (total + 1);
  return upper_normal((distance - 0.5) / std::sqrt(variance));
}

std::vector<double> sorted_differences(std::span<const double> earlier,
                                       std::span<const double> later) {
  std::vector<double> differences;
  differences.reserve(earlier.size() * later.size());
  for (const double y : later)
    for (const double x : earlier) differences.push_back(y - x);
  std::sort(differences.begin(), differences.end());
  return differences;
}

// How many differences may be left out at each end.
std::size_t cut_of(std::size_t m, std::size_t n, double tail) {
  if (m + n > kMostExact) {
    const auto a = static_cast<double>(m), b = static_cast<double>(n);
    double low = 0, high = 40;  // the normal quantile by halving; 60 steps reach the last bit
    for (int i = 0; i < 60; ++i) {
      const double middle = 0.5 * (low + high);
      (upper_normal(middle) > tail ? low : high) = middle;
    }
    const double cut = 0.5 * a * b - high * std::sqrt(a * b * (a + b + 1) / 12);
    return cut < 1 ? 0 : static_cast<std::size_t>(cut);
  }
  std::vector<std::size_t> ranks(m + n);
  std::iota(ranks.begin(), ranks.end(), std::size_t{1});
  const std::vector<double> probability = distribution_of_draws(ranks, n);
  const std::size_t least = n * (n + 1) / 2;
  std::size_t cut = 0;
  for (double below = probability[least]; below <= tail; below += probability[least + cut]) ++cut;
  return cut;
}

}  // namespace

double hodges_lehmann_shift(std::span<const double> earlier, std::span<const double> later) {
  return median(sorted_differences(earlier, later));
}

std::optional<Interval> rank_sum_interval(std::span<const double> earlier,
                                          std::span<const double> later, double confidence) {
  if (earlier.empty() || later.empty()) return std::nullopt;
  const std::size_t cut = cut_of(earlier.size(), later.size(), 0.5 * (1 - confidence));
  if (cut == 0) return std::nullopt;
  const std::vector<double> differences = sorted_differences(earlier, later);
  return Interval{differences[cut - 1], differences[differences.size() - cut]};
}

double rank_sum_above(std::span<const double> earlier, std::span<const double> later,
                      double bound) {
  if (earlier.empty() || later.empty()) return 1;
  std::vector<double> all(later.begin(), later.end());
  for (const double x : earlier) all.push_back(x + bound);
  const std::vector<std::size_t> ranks = doubled_ranks(all);
  const std::size_t sum = std::accumulate(
      ranks.begin(), ranks.begin() + static_cast<std::ptrdiff_t>(later.size()), std::size_t{0});
  if (all.size() > kMostExact) return normal_upper_tail(ranks, later.size(), sum);
  const std::vector<double> probability = distribution_of_draws(ranks, later.size());
  return std::min(1.0, std::accumulate(probability.begin() + static_cast<std::ptrdiff_t>(sum),
                                       probability.end(), 0.0));
}

double rank_sum_below(std::span<const double> earlier, std::span<const double> later,
                      double bound) {
  return rank_sum_above(later, earlier, -bound);
}

}  // namespace thinpipe
