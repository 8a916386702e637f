#include "reports/statistics/rank_sum.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

#include "reports/statistics/ranks.h"

namespace thinpipe {
namespace {

// By the definition: every way to choose which of all values are the later ones.
double every_choice(const std::vector<double>& earlier, const std::vector<double>& later,
                    double bound) {
  std::vector<double> all(later);
  for (const double x : earlier) all.push_back(x + bound);
  const std::vector<std::size_t> ranks = doubled_ranks(all);
  const auto sum_of = [&](std::size_t chosen) {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) sum += (chosen >> i & 1) != 0 ? ranks[i] : 0;
    return sum;
  };
  const std::size_t measured = sum_of((std::size_t{1} << later.size()) - 1);
  double ways = 0, as_far = 0;
  for (std::size_t chosen = 0; chosen < std::size_t{1} << all.size(); ++chosen) {
    if (std::popcount(chosen) != static_cast<int>(later.size())) continue;
    ++ways;
    if (sum_of(chosen) >= measured) ++as_far;
  }
  return as_far / ways;
}

std::vector<double> drawn(std::mt19937_64& generator, std::size_t n, double mean, bool coarse) {
  std::normal_distribution<double> normal(mean, 1);
  std::vector<double> values(n);
  for (double& value : values) {
    value = normal(generator);
    if (coarse) value = std::round(2 * value) / 2;
  }
  return values;
}

TEST(RankSum, AsEveryWayToChoose) {
  std::mt19937_64 generator(5);
  for (const std::size_t n : {1, 2, 5, 6}) {
    for (const std::size_t m : {1, 3, 7}) {
      for (const bool coarse : {false, true}) {
        const std::vector<double> x = drawn(generator, n, 0, coarse);
        const std::vector<double> y = drawn(generator, m, 1, coarse);
        EXPECT_NEAR(rank_sum_above(x, y, 0.5), every_choice(x, y, 0.5), 1e-12) << n << m;
        EXPECT_NEAR(rank_sum_below(x, y, 0.5), every_choice(y, x, -0.5), 1e-12) << n << m;
      }
    }
  }
}

// Hollander, Wolfe & Chicken, table 4.1 (permeability of the amnion): example 4.1 has W = 30 of 5
// against 10 values, P = 0.127 for a shift downwards; example 4.3 the estimate -0.305.
TEST(RankSum, PermeabilityOfTheAmnion) {
  const std::vector<double> at_term = {0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46};
  const std::vector<double> early = {1.15, 0.88, 0.90, 0.74, 1.21};
  EXPECT_NEAR(rank_sum_below(at_term, early, 0), 0.127, 0.0005);
  EXPECT_NEAR(hodges_lehmann_shift(at_term, early), -0.305, 1e-9);
}

TEST(RankSum, FewestForAnInterval) {
  const std::vector<double> three = {1, 2, 3}, four = {1, 2, 3, 4};
  EXPECT_FALSE(rank_sum_interval(three, three, 0.95));        // 2 / 20 > 5 %
  const auto interval = rank_sum_interval(four, four, 0.95);  // 2 / 70
  ASSERT_TRUE(interval.has_value());
  EXPECT_EQ(interval->low, -3);
  EXPECT_EQ(interval->high, 3);
  EXPECT_FALSE(rank_sum_interval({}, four, 0.95));
  EXPECT_EQ(rank_sum_above({}, four, 0), 1);
}

// The interval is the set of shifts that the two-sided test does not refuse; beyond 60 values by
// the normal approximation, where both are off by a little.
TEST(RankSum, IntervalAndTestSayTheSame) {
  std::mt19937_64 generator(11);
  for (const std::size_t n : {4, 10, 30, 45}) {
    const std::vector<double> x = drawn(generator, n, 0, false), y = drawn(generator, n, 0, false);
    const auto interval = rank_sum_interval(x, y, 0.95);
    ASSERT_TRUE(interval.has_value());
    const double inch = 1e-9, slack = n > 30 ? 0.001 : 0;
    EXPECT_LE(rank_sum_above(x, y, interval->low - inch), 0.025 + slack);
    EXPECT_GT(rank_sum_above(x, y, interval->low + inch), 0.025 - slack);
    EXPECT_LE(rank_sum_below(x, y, interval->high + inch), 0.025 + slack);
    EXPECT_GT(rank_sum_below(x, y, interval->high - inch), 0.025 - slack);
  }
}

// With 31 values a side the approximation begins; at 30 it is exact: they must be near each other.
TEST(RankSum, ApproximationJoinsTheExact) {
  const auto p_of = [](int n) {
    std::vector<double> x, y;
    for (int i = 0; i < n; ++i) {
      x.push_back(i);
      y.push_back(i + 4.5);
    }
    return rank_sum_above(x, y, 0);
  };
  EXPECT_NEAR(p_of(31) / p_of(30), p_of(30) / p_of(29), 0.02);
}

}  // namespace
}  // namespace thinpipe
