#include "reports/statistics/quantile.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace thinpipe
