#include "reports/statistics/statistics.h"

#include <gtest/gtest.h>
#include <algorithm>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <vector>

namespace thinpipe {
namespace {

TEST(Quantile, MedianOfOddAndEvenCounts) {
  EXPECT_DOUBLE_EQ(median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median(std::vector<double>{4, 1, 3, 2}), 2.5);  // (2 + 3) / 2
  EXPECT_DOUBLE_EQ(median(std::vector<double>{7}), 7);
}

// Position (n - 1) q: n = 5, q = 0.1 -> 0.4 -> 10 + 0.4 (20 - 10) = 14; q = 0.9 -> 3.6 -> 46.
TEST(Quantile, InterpolatesBetweenOrderStatistics) {
  const std::vector<double> values = {50, 20, 10, 40, 30};
  EXPECT_DOUBLE_EQ(quantile(values, 0.1), 14);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 46);
  EXPECT_DOUBLE_EQ(quantile(values, 0), 10);
  EXPECT_DOUBLE_EQ(quantile(values, 1), 50);
}

TEST(Quantile, MeansOfKnownValues) {
  EXPECT_DOUBLE_EQ(mean(std::vector<double>{1, 2, 6}), 3);
  EXPECT_NEAR(geometric_mean(std::vector<double>{2, 8}), 4, 1e-15);         // sqrt(16)
  EXPECT_NEAR(geometric_mean(std::vector<double>{1, 10, 100}), 10, 1e-14);  // cube root of 1000
}

TEST(Quantile, RunningMeansBeginWithFewerValues) {
  EXPECT_EQ(running_mean(std::vector<double>{1, 3, 2, 2}, 2), (std::vector<double>{1, 2, 2.5, 2}));
  EXPECT_EQ(running_mean(std::vector<double>{1, 3}, 5), (std::vector<double>{1, 2}));
  EXPECT_TRUE(running_mean({}, 1).empty());
}

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
    for (int i = 0; i < 20; ++i)
      samples.push_back(-std::log1p(-static_cast<double>(generator() >> 11) * 0x1p-53));
    covered += exact_median_interval(samples)->holds(std::log(2.0)) ? 1 : 0;
  }
  EXPECT_GE(covered, 940);
  EXPECT_LE(covered, 978);
}

TEST(MedianOf, AResampleOfAnEvenNumberIsTheMeanOfItsMiddleTwo) {
  // Six values drawn from 0 and 2 are three of each in 20 of 64 resamples, and their median is then
  // 1. Over 2000 resamples the standard deviation of this fraction is 0.0104.
  const std::vector<double> resampled = bootstrap_median({{0, 2}, {0, 2}, {0, 2}}, 0).resampled;
  const auto ones = std::count(resampled.begin(), resampled.end(), 1.0);
  EXPECT_NEAR(static_cast<double>(ones) / static_cast<double>(resampled.size()), 20.0 / 64, 0.052);
}

// Three repeats have values near 1, 2 and 3, with hardly any spread within a repeat. The exact
// interval of the 60 pooled samples would be 2 +- this spread. The bootstrap takes into account
// that only three conditions occurred.
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

TEST(MeanInterval, IsStudents) {
  // n = 5, mean 3, s^2 = 10 / 4; t(0.95; 4) = 2.131847 by any table.
  const std::vector<double> values = {1, 2, 3, 4, 5};
  const auto found = mean_interval(values, 0.9);
  ASSERT_TRUE(found && found->interval);
  EXPECT_EQ(found->samples, 5U);
  EXPECT_DOUBLE_EQ(found->mean, 3);
  EXPECT_NEAR(found->interval->high - 3, 2.131847 * std::sqrt(2.5 / 5), 1e-6);
  EXPECT_NEAR(3 - found->interval->low, 2.131847 * std::sqrt(2.5 / 5), 1e-6);
  // t(0.975; 1) = 12.7062: mean 1, s = sqrt(2).
  const auto two = mean_interval(std::vector<double>{0, 2}, 0.95);
  EXPECT_NEAR(two->interval->high, 1 + 12.7062, 1e-4);
}

TEST(MeanInterval, FewValuesAndNone) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(mean_interval({}, 0.9).has_value());
  EXPECT_FALSE(mean_interval(std::vector<double>{kNan}, 0.9).has_value());
  const auto one = mean_interval(std::vector<double>{kNan, 7}, 0.9);
  EXPECT_EQ(one->mean, 7);
  EXPECT_FALSE(one->interval.has_value());
  const auto alike = mean_interval(std::vector<double>{1, 1, kNan, 1}, 0.9);
  EXPECT_EQ(alike->interval->low, 1);
  EXPECT_EQ(alike->interval->high, 1);
}

TEST(MeanOfSamples, HasStudentsIntervalFromThreeOn) {
  // R: t.test(c(1, 2, 4)): -1.461 to 6.128.
  const std::vector<double> samples = {1, 2, 4};
  const Estimate found = mean_of_samples(samples);
  EXPECT_DOUBLE_EQ(found.value, 7.0 / 3);
  ASSERT_TRUE(found.interval);
  EXPECT_NEAR(found.interval->low, 7.0 / 3 - 4.302653 * std::sqrt(7.0 / 3 / 3), 1e-5);
  EXPECT_NEAR(found.interval->high, 7.0 / 3 + 4.302653 * std::sqrt(7.0 / 3 / 3), 1e-5);
  EXPECT_FALSE(mean_of_samples(std::span(samples).first(2)).interval);
  // Of NaN neither the mean nor the number of samples takes notice.
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  const Estimate two = mean_of_samples(std::vector<double>{1, kNan, 3});
  EXPECT_EQ(two.value, 2);
  EXPECT_FALSE(two.interval);
  EXPECT_TRUE(std::isnan(mean_of_samples(std::vector<double>{kNan}).value));
  // R: qt(0.975, 40) = 2.021075.
  std::vector<double> many(41, 0.0);
  many[0] = 41;
  EXPECT_NEAR(mean_of_samples(many).interval->high - 1, 2.021075, 1e-3);
}

}  // namespace

}  // namespace thinpipe
