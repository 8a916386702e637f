#include "reports/gate/comparison.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/reports/gate/measured_sample.h"

namespace thinpipe {
namespace {

using sample::series;

const SeriesName kName{"point", "metric"};

MetricComparison exact(std::vector<std::vector<double>> before,
                       std::vector<std::vector<double>> after, bool direction_counts = false) {
  return compare_exact(kName, series("exact", "lower", std::move(before), "B"),
                       series("exact", "lower", std::move(after), "B"), direction_counts);
}

TEST(CompareExact, OneByteMoreIsFound) {
  EXPECT_EQ(exact({{34000, 34000}}, {{34000, 34000}}).verdict, Verdict::kSame);
  EXPECT_EQ(exact({{34000, 34000}}, {{34000, 34001}}).verdict, Verdict::kWorse);
  EXPECT_EQ(exact({{34000, 34000}}, {{34000, 34001}}, true).verdict, Verdict::kWorse);
}

// Against a stored baseline also what is better is not equal; against an older build it passes.
TEST(CompareExact, OneByteLess) {
  EXPECT_EQ(exact({{34000}}, {{33999}}).verdict, Verdict::kWorse);
  EXPECT_EQ(exact({{34000}}, {{33999}}, true).verdict, Verdict::kBetter);
}

TEST(CompareExact, SameMeanOfOtherValuesIsAnotherValue) {
  EXPECT_EQ(exact({{1, 3}}, {{2, 2}}, true).verdict, Verdict::kWorse);
  EXPECT_EQ(exact({{1, 3}}, {{1, 3, 2}}, true).verdict, Verdict::kWorse);
}

TEST(CompareExact, WhatChangesFromLaunchToLaunchIsNotExact) {
  EXPECT_EQ(exact({{1}, {1}}, {{1}, {2}}).verdict, Verdict::kWorse);
  EXPECT_EQ(exact({{1}, {2}}, {{2}, {2}}).verdict, Verdict::kWorse);
  EXPECT_EQ(exact({{2}, {2}}, {{2}, {2}}).verdict, Verdict::kSame);
}

MetricComparison quality(const std::string& better, double before, double after,
                         const GateMargins& margins = {.margin = 0.01}) {
  return compare_quality(kName, series("quality", better, {{before}}, "1"),
                         series("quality", better, {{after}}, "1"), margins);
}

TEST(CompareQuality, InTheDirectionOfTheMetric) {
  EXPECT_EQ(quality("lower", 0.5, 0.51).verdict, Verdict::kWorse);  // 2 %
  EXPECT_EQ(quality("lower", 0.5, 0.504).verdict, Verdict::kSame);
  EXPECT_EQ(quality("lower", 0.5, 0.49).verdict, Verdict::kBetter);
  EXPECT_EQ(quality("higher", 0.5, 0.49).verdict, Verdict::kWorse);
  EXPECT_EQ(quality("higher", 0.5, 0.51).verdict, Verdict::kBetter);
}

// k^/k of 1.02 and of 0.98 are equally far from 1.
TEST(CompareQuality, DistanceFromTheTarget) {
  EXPECT_EQ(quality("target:1", 1, 1.02).verdict, Verdict::kWorse);
  EXPECT_EQ(quality("target:1", 1, 0.98).verdict, Verdict::kWorse);
  EXPECT_EQ(quality("target:1", 1.02, 0.98).verdict, Verdict::kSame);
  EXPECT_EQ(quality("target:1", 1.02, 1).verdict, Verdict::kBetter);
}

TEST(CompareQuality, FromNothingToSomething) {
  EXPECT_EQ(quality("lower", 0, 0.02).verdict, Verdict::kWorse);
  EXPECT_EQ(quality("lower", 0, 0).verdict, Verdict::kSame);
  EXPECT_EQ(compare_quality(kName, series("quality", "lower", {{1}}),
                            series("quality", "lower", {{}}), {.margin = 0.01})
                .verdict,
            Verdict::kWorse);
}

TEST(CompareQuality, BoundsOfThePolicy) {
  EXPECT_EQ(quality("target:1", 1, 1.005, {.margin = 0.1, .most = 1.001}).verdict, Verdict::kWorse);
  EXPECT_EQ(quality("target:1", 1, 0.995, {.margin = 0.1, .least = 0.999}).verdict,
            Verdict::kWorse);
  EXPECT_EQ(quality("target:1", 1, 0.995, {.margin = 0.1, .least = 0.99}).verdict, Verdict::kSame);
}

TEST(PairedDifferences, PairsWithoutATimeAreLeftOut) {
  const std::vector<double> differences =
      paired_differences(series("timed", "lower", {{1}, {}, {0}, {2, 4, 100}}),
                         series("timed", "lower", {{std::exp(1.0)}, {1}, {1}, {4}}));
  ASSERT_EQ(differences.size(), 2U);
  EXPECT_NEAR(differences[0], 1, 1e-12);
  EXPECT_EQ(differences[1], 0);  // the median, not the mean
}

TEST(PairedDifferences, InTurnsValueByValue) {
  // One pair in which the machine did something else; it moves the median of one side far.
  const MetricSeries before = series("timed", "lower", {{1, 2, 3, 4, 5}});
  const MetricSeries after = series("timed", "lower", {{1.1, 2.2, 30, 4.4, 5.5}});
  EXPECT_NEAR(paired_differences(before, after, true).at(0), std::log(1.1), 1e-12);
  EXPECT_NEAR(paired_differences(before, after).at(0), std::log(4.4 / 3), 1e-12);
  // Sides that do not have as many values have no neighbours.
  const MetricSeries fewer = series("timed", "lower", {{6, 6}});
  EXPECT_NEAR(paired_differences(before, fewer, true).at(0), std::log(2.0), 1e-12);
}

}  // namespace
}  // namespace thinpipe
