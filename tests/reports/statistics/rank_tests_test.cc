#include "reports/statistics/rank_tests.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <vector>

namespace thinpipe {
namespace {

using Ranks = std::vector<std::size_t>;

TEST(DoubledRanks, TiesHaveTheMiddleOfTheirPlaces) {
  // In the sorted values 1, 2, 3, 3, 5 the threes are at positions 3 and 4. The middle of these
  // positions is 3.5, and twice the middle is 7.
  EXPECT_EQ(doubled_ranks(std::vector<double>{3, 1, 5, 3, 2}), (Ranks{7, 2, 10, 7, 4}));
  EXPECT_EQ(doubled_ranks(std::vector<double>{4, 4, 4}), (Ranks{4, 4, 4}));
  EXPECT_EQ(doubled_ranks({}), Ranks{});
}

// By the definition: every one of the 2^n ways to sign the ranks.
double every_signing(const std::vector<double>& differences, double bound) {
  std::vector<double> from_bound, magnitudes;
  for (const double difference : differences) {
    if (difference == bound) continue;
    from_bound.push_back(difference - bound);
    magnitudes.push_back(std::abs(difference - bound));
  }
  const std::vector<std::size_t> ranks = doubled_ranks(magnitudes);
  std::size_t measured = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) measured += from_bound[i] > 0 ? ranks[i] : 0;
  const std::size_t ways = std::size_t{1} << ranks.size();
  std::size_t as_far = 0;
  for (std::size_t signs = 0; signs < ways; ++signs) {
    std::size_t sum = 0;
    for (std::size_t i = 0; i < ranks.size(); ++i) sum += (signs >> i & 1) != 0 ? ranks[i] : 0;
    if (sum >= measured) ++as_far;
  }
  return static_cast<double>(as_far) / static_cast<double>(ways);
}

/// Draws values around a mean, with a standard deviation of 1.
/// @param coarse  rounds them, so that some have equal magnitudes and some are at the bound
std::vector<double> drawn(std::mt19937_64& generator, std::size_t n, double mean, bool coarse) {
  std::normal_distribution<double> normal(mean, 1);
  std::vector<double> values(n);
  for (double& value : values) {
    value = normal(generator);
    if (coarse) value = std::round(2 * value) / 2;
  }
  return values;
}

TEST(SignedRank, AsEveryWayToSignTheRanks) {
  std::mt19937_64 generator(3);
  for (std::size_t n = 0; n <= 11; ++n) {
    for (const bool coarse : {false, true}) {
      const std::vector<double> d = drawn(generator, n, 0.3, coarse);
      EXPECT_NEAR(signed_rank_above(d, 0.5), every_signing(d, 0.5), 1e-12) << n;
      std::vector<double> turned(d);
      for (double& value : turned) value = -value;
      EXPECT_NEAR(signed_rank_below(d, 0.5), every_signing(turned, -0.5), 1e-12) << n;
    }
  }
}

// Hollander, Wolfe & Chicken, table 3.1 (Hamilton's depression scale, nine patients before and
// after a tranquilliser) as example 3.1, 3.3 and 3.4 work it out: T+ = 5, P = 0.0195, estimate
// -0.46, the interval of confidence 0.961 from -0.786 to -0.010.
TEST(SignedRank, HamiltonsScale) {
  const std::vector<double> d = {-0.952, 0.147,  -1.022, -0.430, -0.620,
                                 -0.590, -0.490, 0.080,  -0.010};
  EXPECT_NEAR(signed_rank_below(d, 0), 10 / 512.0, 1e-12);
  EXPECT_NEAR(hodges_lehmann(d), -0.46, 1e-9);
  const auto interval = signed_rank_interval(d, 0.96);
  ASSERT_TRUE(interval.has_value());
  EXPECT_NEAR(interval->low, -0.786, 1e-9);
  EXPECT_NEAR(interval->high, -0.010, 1e-9);
}

// 2^-5 > 2.5 %; 2^-6 is not, and then the ends are the extremes.
TEST(SignedRank, FewestForAnInterval) {
  EXPECT_FALSE(signed_rank_interval(std::vector<double>{1, 2, 3, 4, 5}, 0.95));
  const auto interval = signed_rank_interval(std::vector<double>{6, 1, 2, 3, 4, 5}, 0.95);
  ASSERT_TRUE(interval.has_value());
  EXPECT_EQ(interval->low, 1);
  EXPECT_EQ(interval->high, 6);
}

// The interval is the set of centres that the two-sided test does not refuse.
TEST(SignedRank, IntervalAndTestSayTheSame) {
  std::mt19937_64 generator(7);
  for (const std::size_t n : {6, 10, 17, 40}) {
    const std::vector<double> d = drawn(generator, n, 0, false);
    const auto interval = signed_rank_interval(d, 0.95);
    ASSERT_TRUE(interval.has_value());
    const double inch = 1e-9;
    EXPECT_LE(signed_rank_above(d, interval->low - inch), 0.025);
    EXPECT_GT(signed_rank_above(d, interval->low + inch), 0.025);
    EXPECT_LE(signed_rank_below(d, interval->high + inch), 0.025);
    EXPECT_GT(signed_rank_below(d, interval->high - inch), 0.025);
  }
}

// One difference gone wild moves neither estimate nor interval beyond their neighbours.
TEST(SignedRank, AWildDifferenceMovesLittle) {
  std::vector<double> d;
  for (int i = -10; i <= 10; ++i) d.push_back(0.001 * i);
  const double before = hodges_lehmann(d);
  d.back() = 1e6;
  EXPECT_NEAR(hodges_lehmann(d), before, 0.001);
  EXPECT_LT(signed_rank_interval(d, 0.95)->high, 0.01);
}

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

// The interval is the set of shifts that the two-sided test does not reject. Beyond 60 values both
// use the normal approximation, so both are slightly off.
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

// With 31 values a side the test uses the normal approximation; with 30 it is exact. The two
// p-values must be near each other.
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

// The example of Benjamini & Hochberg 1995, section 3.2: of 15 p-values the first four are
// significant at 0.05 (by Bonferroni's rule only three would be).
TEST(BenjaminiHochberg, TheirExample) {
  const std::vector<double> p = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                                 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
  const std::vector<bool> believed = benjamini_hochberg(p, 0.05);
  for (std::size_t i = 0; i < p.size(); ++i) EXPECT_EQ(believed[i], i < 4) << i;
}

TEST(BenjaminiHochberg, InAnyOrderAndAboveTheLineWithinTheStep) {
  // 0.04 is above its own limit (2/4 * 0.05), but p(4) = 0.05 is exactly at its limit, so all four
  // are significant.
  EXPECT_EQ(benjamini_hochberg(std::vector<double>{0.05, 0.04, 0.045, 0.001}, 0.05),
            (std::vector<bool>{true, true, true, true}));
  EXPECT_EQ(benjamini_hochberg(std::vector<double>{0.2, 0.01}, 0.05),
            (std::vector<bool>{false, true}));
  EXPECT_TRUE(benjamini_hochberg({}, 0.05).empty());
}

}  // namespace

}  // namespace thinpipe
