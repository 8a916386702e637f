#include "reports/figures/ticks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/text/units.h"

namespace thinpipe {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::Pointwise;

TEST(Ticks, LinearOnesAreRound) {
  EXPECT_THAT(linear_ticks({0, 1}, 5), Pointwise(DoubleEq(), {0.0, 0.2, 0.4, 0.6, 0.8, 1.0}));
  EXPECT_THAT(linear_ticks({-0.13, 0.11}, 5), Pointwise(DoubleEq(), {-0.1, -0.05, 0.0, 0.05, 0.1}));
}

TEST(Ticks, LogarithmicOnes) {
  EXPECT_THAT(log_ticks({0.9, 1100}), ElementsAre(1, 10, 100, 1000));
  EXPECT_THAT(log_ticks({0.9, 11}), Pointwise(DoubleEq(), {1.0, 2.0, 5.0, 10.0}));
}

// 0.995, 1, 1.005, 1.01 would read 0.995, 1, 1 (1.005 has four digits), 1.01: steps of 0.01 do not.
TEST(Ticks, LabelsDiffer) {
  const std::vector<double> ticks = readable_ticks({0.993, 1.013}, 5, format_number);
  std::set<std::string> labels;
  for (const double tick : ticks) labels.insert(format_number(tick));
  EXPECT_EQ(labels.size(), ticks.size());
}

TEST(Ticks, CloseNeighboursAreThinned) {
  EXPECT_THAT(thinned({1e7, 1.1e7, 1e8, 1e12}, {1e6, 1e9}, true), ElementsAre(1e7, 1e8));
}

TEST(Ticks, RangesHoldTheirValuesAndHaveExtent) {
  for (const bool is_log : {false, true}) {
    for (const std::vector<double>& values : {std::vector<double>{5}, {1, 2, 3}, {1e-9, 1e9}}) {
      const Range range = padded_range(values, is_log);
      EXPECT_LT(range.low, values.front());
      EXPECT_GT(range.high, values.back());
    }
  }
  const Range zero = padded_range({0}, false);
  EXPECT_LT(zero.low, zero.high);
}

}  // namespace
}  // namespace thinpipe
