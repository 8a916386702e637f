#include "reports/statistics/signed_rank.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "reports/statistics/ranks.h"

namespace thinpipe {
namespace {

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

TEST(SignedRank, AsEveryWayToSignTheRanks) {
  std::mt19937_64 generator(3);
  std::normal_distribution<double> normal(0.3, 1);
  for (int n = 0; n <= 11; ++n) {
    for (const bool coarse : {false, true}) {  // coarse: equal magnitudes, and some at the bound
      std::vector<double> d;
      for (int i = 0; i < n; ++i) {
        const double value = normal(generator);
        d.push_back(coarse ? std::round(2 * value) / 2 : value);
      }
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
  std::normal_distribution<double> normal(0, 1);
  for (const std::size_t n : {6, 10, 17, 40}) {
    std::vector<double> d(n);
    for (double& value : d) value = normal(generator);
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

}  // namespace
}  // namespace thinpipe
