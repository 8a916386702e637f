#include "reports/statistics/interval.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>

#include "reports/statistics/quantile.h"

namespace thinpipe {
namespace {

Estimate median_of(const Repeats& repeats) {
  return thinpipe::median_of(repeats, bootstrap_median(repeats, 1));
}

Estimate ratio_of_medians(const Repeats& numerator, const Repeats& denominator) {
  return thinpipe::ratio_of_medians(bootstrap_median(numerator, 1),
                                    bootstrap_median(denominator, 2));
}

std::vector<double> one_to(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.begin(), values.end(), 1.0);
  return values;
}

// 2 P(Binomial(5, 1/2) < 1) = 2/32 = 6.25 % > 5 %: no order statistics will do.
TEST(ExactMedianInterval, NoneBelowSixSamples) {
  EXPECT_FALSE(exact_median_interval(one_to(5)).has_value());
}

// With samples 1..n the ends are the ranks themselves. From the binomial table:
// n = 6: P(<1) = 1/64 = 1.6 %, P(<2) = 7/64 = 10.9 %           -> j = 1
// n = 10: P(<2) = 11/1024 = 1.07 %, P(<3) = 56/1024 = 5.5 %    -> j = 2
// n = 20: P(<6) = 21700/2^20 = 2.07 %, P(<7) = 60460/2^20 = 5.8 % -> j = 6
// n = 100: the tabled ranks are 40 and 61.
TEST(ExactMedianInterval, TabledRanks) {
  const std::vector<std::pair<int, int>> table = {{6, 1}, {10, 2}, {20, 6}, {100, 40}};
  for (const auto& [n, j] : table) {
    const Interval interval = *exact_median_interval(one_to(n));
    EXPECT_DOUBLE_EQ(interval.low, j) << n;
    EXPECT_DOUBLE_EQ(interval.high, n + 1 - j) << n;
  }
}

// Normal approximation: n/2 -+ 1.96 sqrt(n)/2 = 5000 -+ 98, where 2^-n is no longer a double.
TEST(ExactMedianInterval, ManySamplesDoNotUnderflow) {
  const Interval interval = *exact_median_interval(one_to(10000));
  EXPECT_NEAR(interval.low, 4902, 2);
  EXPECT_NEAR(interval.high, 5099, 2);
}

// The intervals claim 95 %: over 1000 seeded exponential samples of 20 the true median ln 2 must be
// inside about as often. The exact one covers 95.9 % (table above); 3 standard errors are 1.9 %.
TEST(ExactMedianInterval, CoversTheTrueMedian) {
  std::mt19937_64 generator(7);
  int covered = 0;
  for (int trial = 0; trial < 1000; ++trial) {
    std::vector<double> samples;
    for (int i = 0; i < 20; ++i) {
      samples.push_back(-std::log1p(-static_cast<double>(generator() >> 11) * 0x1p-53));
    }
    covered += exact_median_interval(samples)->holds(std::log(2.0)) ? 1 : 0;
  }
  EXPECT_GE(covered, 940);
  EXPECT_LE(covered, 978);
}

// Three repeats that sit at 1, 2 and 3 with hardly any spread inside: 60 pooled samples would give
// an exact interval at 2 +- spread; the bootstrap sees that only three conditions were met.
TEST(MedianOf, RepeatsThatDisagreeWidenTheInterval) {
  Repeats repeats(3);
  for (std::size_t r = 0; r < 3; ++r) {
    for (int i = 0; i < 20; ++i) repeats[r].push_back(static_cast<double>(r) + 1 + 1e-3 * i);
  }
  const Estimate estimate = median_of(repeats);
  EXPECT_NEAR(estimate.value, 2.0095, 1e-9);  // middle of the middle repeat: 2 + (9 + 10)/2 e-3
  EXPECT_LT(estimate.interval->low, 1.1);
  EXPECT_GT(estimate.interval->high, 2.9);
}

TEST(MedianOf, SameRecordsSameInterval) {
  const Repeats repeats = {one_to(10), one_to(12)};
  EXPECT_EQ(median_of(repeats).interval->low, median_of(repeats).interval->low);
  EXPECT_EQ(median_of(repeats).interval->high, median_of(repeats).interval->high);
}

TEST(MedianOf, EmptyRepeatsAreLeftOut) {
  EXPECT_DOUBLE_EQ(median_of({{}, {1, 2, 3}}).value, 2);
  EXPECT_FALSE(median_of({{}, {1, 2, 3}}).interval.has_value());
}

TEST(RatioOfMedians, OfConstantsIsExact) {
  const Estimate ratio =
      ratio_of_medians({std::vector<double>(8, 3.0)}, {std::vector<double>(8, 1.5)});
  EXPECT_DOUBLE_EQ(ratio.value, 2);
  EXPECT_DOUBLE_EQ(ratio.interval->low, 2);
  EXPECT_DOUBLE_EQ(ratio.interval->high, 2);
}

// numerator 1..20 (median 10.5), denominator 1: the ratio's interval is that of the numerator's
// median, whose exact one is [6, 15]; the bootstrap agrees to a rank.
TEST(RatioOfMedians, AgreesWithTheExactIntervalOverAConstant) {
  const Estimate ratio = ratio_of_medians({one_to(20)}, {std::vector<double>(20, 1.0)});
  EXPECT_DOUBLE_EQ(ratio.value, 10.5);
  EXPECT_NEAR(ratio.interval->low, 6, 1);
  EXPECT_NEAR(ratio.interval->high, 15, 1);
}

TEST(RatioOfMedians, TooFewSamplesGiveNoInterval) {
  EXPECT_FALSE(ratio_of_medians({one_to(20)}, {one_to(5)}).interval.has_value());
}

}  // namespace
}  // namespace thinpipe
