#include "harness/predict/break_even.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

// Saves 0.1 Gbit of transfer for 50 ms of codec: even at 2 Gbit/s.
TEST(PredictedBreakEven, IsWhereTheGainIsNothing) {
  const auto found = predicted_break_even([](double rate) { return 0.1e9 / rate - 0.05; });
  ASSERT_TRUE(found.rate);
  EXPECT_NEAR(*found.rate, 2e9, 2e6);
  EXPECT_TRUE(found.pays_at_least);
  EXPECT_FALSE(found.pays_at_most);
}

TEST(PredictedBreakEven, MayNotExist) {
  EXPECT_FALSE(predicted_break_even([](double) { return 1.0; }).rate);
  EXPECT_FALSE(predicted_break_even([](double) { return -1.0; }).rate);
  const auto rising = predicted_break_even([](double rate) { return rate - 1e9; });
  EXPECT_FALSE(rising.rate);
  EXPECT_TRUE(rising.pays_at_most);
}

// Pays to 1 Mbit/s and from 10 to 100 Mbit/s: the highest crossing counts.
TEST(PredictedBreakEven, OfSeveralIsTheHighest) {
  const auto found = predicted_break_even(
      [](double rate) { return rate < 1e6 || (rate > 1e7 && rate < 1e8) ? 1.0 : -1.0; });
  ASSERT_TRUE(found.rate);
  EXPECT_NEAR(*found.rate, 1e8, 1e5);
}

}  // namespace
}  // namespace thinpipe
