#include "reports/statistics/confidence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <span>
#include <vector>

namespace thinpipe {
namespace {

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

TEST(MeanOfSamples, HasAnIntervalFromThreeOn) {
  EXPECT_FALSE(mean_of_samples(std::vector<double>{0, 2}).interval.has_value());
  const Estimate three = mean_of_samples(std::vector<double>{1, 2, 3});
  EXPECT_DOUBLE_EQ(three.value, 2);
  EXPECT_NEAR(three.interval->high, 2 + 4.302653 / std::sqrt(3.0), 1e-5);  // t(0.975; 2)
}

TEST(MeanOfSamples, HasStudentsInterval) {
  // R: t.test(c(1, 2, 4)): -1.461 to 6.128.
  const std::vector<double> samples = {1, 2, 4};
  const Estimate found = mean_of_samples(samples);
  ASSERT_TRUE(found.interval);
  EXPECT_NEAR(found.interval->low, 7.0 / 3 - 4.302653 * std::sqrt(7.0 / 3 / 3), 1e-5);
  EXPECT_NEAR(found.interval->high, 7.0 / 3 + 4.302653 * std::sqrt(7.0 / 3 / 3), 1e-5);
  EXPECT_FALSE(mean_of_samples(std::span(samples).first(2)).interval);
  // R: qt(0.975, 40) = 2.021075.
  std::vector<double> many(41, 0.0);
  many[0] = 41;
  EXPECT_NEAR((mean_of_samples(many).interval->high - 1) * std::sqrt(41.0) / std::sqrt(41.0),
              2.021075, 1e-3);
}

}  // namespace
}  // namespace thinpipe
