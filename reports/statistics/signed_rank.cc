// Walsh averages, and the rank sum's distribution by adding one rank after the other.
#include "reports/statistics/signed_rank.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "reports/statistics/quantile.h"
#include "reports/statistics/ranks.h"

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

// The probabilities of sums of a subset of `ranks`, each in it or not by the toss of a coin.
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

}  // namespace

double hodges_lehmann(std::span<const double> differences) {
  return median(walsh_averages(differences));
}

std::optional<Interval> signed_rank_interval(std::span<const double> differences,
                                             double confidence) {
  const std::size_t n = differences.size();
  std::vector<std::size_t> ranks(n);
  for (std::size_t i = 0; i < n; ++i) ranks[i] = i + 1;
  const std::vector<double> probability = distribution_of_sum(ranks);
  const double tail = 0.5 * (1 - confidence);
  // The most averages that may be left out at each end.
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
  std::vector<double> turned(differences.begin(), differences.end());
  for (double& difference : turned) difference = -difference;
  return signed_rank_above(turned, -bound);
}

}  // namespace thinpipe
