// Rank tests by the exact distributions of rank sums. The distribution for signed ranks is built by
// adding one rank after the other. The distribution for two samples counts, for each sum, the
// subsets of ranks with this sum.
#include "reports/statistics/rank_tests.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

namespace thinpipe {
namespace {

std::vector<double> walsh_averages(std::span<const double> d) {
  std::vector<double> averages;
  averages.reserve(d.size() * (d.size() + 1) / 2);
  for (std::size_t i = 0; i < d.size(); ++i)
    for (std::size_t j = i; j < d.size(); ++j) averages.push_back(0.5 * (d[i] + d[j]));
  std::sort(averages.begin(), averages.end());
  return averages;
}

// Returns the distribution of the sum of a random subset of `ranks`: element s is the probability
// that the sum is s. The subset contains each rank with probability 1/2.
std::vector<double> distribution_of_sum(const std::vector<std::size_t>& ranks) {
  std::vector<double> probability{1};
  for (const std::size_t rank : ranks) {
    std::vector<double> next(probability.size() + rank, 0.0);
    for (std::size_t sum = 0; sum < probability.size(); ++sum) {
      next[sum] += 0.5 * probability[sum];
      next[sum + rank] += 0.5 * probability[sum];
    }
    probability = std::move(next);
  }
  return probability;
}

constexpr std::size_t kMaxExact = 60;  // values of both samples together

double upper_normal(double z) { return 0.5 * std::erfc(z / std::sqrt(2.0)); }

// Returns by sum s the probability that `draws` of `ranks`, drawn without replacement, sum to s.
std::vector<double> distribution_of_draws(const std::vector<std::size_t>& ranks,
                                          std::size_t draws) {
  const std::size_t most = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  std::vector<std::vector<double>> by_draws(draws + 1, std::vector<double>(most + 1, 0.0));
  by_draws[0][0] = 1;
  std::size_t reached = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    reached += ranks[i];
    // Counts of subsets of the first i ranks, as fractions of all subsets, so that none overflows.
    const auto seen = static_cast<double>(i + 1);
    for (std::size_t taken = std::min(i + 1, draws);; --taken) {
      const auto fraction = static_cast<double>(taken) / seen;
      for (std::size_t sum = reached + 1; sum-- > 0;) {
        double value = taken <= i ? by_draws[taken][sum] * (1 - fraction) : 0;
        if (taken > 0 && sum >= ranks[i]) value += by_draws[taken - 1][sum - ranks[i]] * fraction;
        by_draws[taken][sum] = value;
      }
      if (taken == 0) break;
    }
  }
  return by_draws[draws];
}

// `sum` is twice the rank sum.
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

// Returns how many differences the interval leaves out at each end.
std::size_t cut_of(std::size_t m, std::size_t n, double tail) {
  if (m + n > kMaxExact) {
    const auto a = static_cast<double>(m), b = static_cast<double>(n);
    double low = 0, high = 40;  // bisects for the normal quantile; 60 steps reach the last bit
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

std::vector<std::size_t> doubled_ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<std::size_t> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first + 1;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (std::size_t i = first; i < end; ++i) ranks[order[i]] = first + 1 + end;
    first = end;
  }
  return ranks;
}

double hodges_lehmann(std::span<const double> differences) {
  return median(walsh_averages(differences));
}

std::optional<Interval> signed_rank_interval(std::span<const double> differences,
                                             double confidence) {
  const std::size_t n = differences.size();
  std::vector<std::size_t> ranks(n);
  std::iota(ranks.begin(), ranks.end(), std::size_t{1});
  const std::vector<double> probability = distribution_of_sum(ranks);
  const double tail = 0.5 * (1 - confidence);
  // The number of averages that the interval leaves out at each end.
  std::size_t cut = 0;
  for (double below = probability[0]; below <= tail; below += probability[cut]) ++cut;
  if (cut == 0) return std::nullopt;
  const std::vector<double> averages = walsh_averages(differences);
  return Interval{averages[cut - 1], averages[averages.size() - cut]};
}

double signed_rank_above(std::span<const double> differences, double bound) {
  std::vector<double> magnitudes;
  std::vector<bool> is_above;
  for (const double difference : differences) {
    if (difference == bound) continue;
    magnitudes.push_back(std::abs(difference - bound));
    is_above.push_back(difference > bound);
  }
  const std::vector<std::size_t> ranks = doubled_ranks(magnitudes);
  std::size_t sum = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) sum += is_above[i] ? ranks[i] : 0;
  const std::vector<double> probability = distribution_of_sum(ranks);
  double p = 0;
  for (std::size_t other = probability.size(); other-- > sum;) p += probability[other];
  return std::min(p, 1.0);
}

double signed_rank_below(std::span<const double> differences, double bound) {
  std::vector<double> negated(differences.begin(), differences.end());
  for (double& difference : negated) difference = -difference;
  return signed_rank_above(negated, -bound);
}

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
  if (all.size() > kMaxExact) return normal_upper_tail(ranks, later.size(), sum);
  const std::vector<double> probability = distribution_of_draws(ranks, later.size());
  return std::min(1.0, std::accumulate(probability.begin() + static_cast<std::ptrdiff_t>(sum),
                                       probability.end(), 0.0));
}

double rank_sum_below(std::span<const double> earlier, std::span<const double> later,
                      double bound) {
  return rank_sum_above(later, earlier, -bound);
}

std::vector<bool> benjamini_hochberg(std::span<const double> p, double rate) {
  std::vector<double> sorted(p.begin(), p.end());
  std::sort(sorted.begin(), sorted.end());
  double largest = -1;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const double line = static_cast<double>(i + 1) / static_cast<double>(sorted.size()) * rate;
    if (sorted[i] <= line) largest = sorted[i];
  }
  std::vector<bool> accepted(p.size());
  for (std::size_t i = 0; i < p.size(); ++i) accepted[i] = p[i] <= largest;
  return accepted;
}

}  // namespace thinpipe
