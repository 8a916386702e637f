#include "reports/statistics/break_even.h"

#include <gtest/gtest.h>

#include <vector>

namespace thinpipe {
namespace {

using Kind = BreakEven::Kind;

SpeedupAtRate at(double rate, double speedup) { return {rate, {speedup, std::nullopt}}; }

SpeedupAtRate at(double rate, double low, double speedup, double high) {
  return {rate, {speedup, Interval{low, high}}};
}

// ln speed-up falls from ln 4 to -ln 4 between 1e7 and 1e9: zero half-way in ln rate, at 1e8.
TEST(BreakEven, HalfWayInLogLog) {
  const BreakEven even = break_even(std::vector{at(1e7, 4), at(1e9, 0.25)});
  EXPECT_EQ(even.kind, Kind::kPaysBelow);
  EXPECT_NEAR(even.rate, 1e8, 1);
  EXPECT_EQ(even.crossings, 1);
}

// From ln 8 at 1e8 to -ln 2 at 1e9: zero after 3/4 of the way: 10^8.75.
TEST(BreakEven, UnevenSides) {
  const BreakEven even = break_even(std::vector{at(1e7, 20), at(1e8, 8), at(1e9, 0.5)});
  EXPECT_NEAR(even.rate / 5.623413251903491e8, 1, 1e-12);
}

// Lower ends 4 -> 1/16: ln 4 : ln 16 = 1 : 2, zero after 1/3: 10^(7 + 2/3).
// Upper ends 16 -> 1/4: zero after 2/3: 10^(7 + 4/3).
TEST(BreakEven, IntervalFromTheIntervalsEnds) {
  const BreakEven even = break_even(std::vector{at(1e7, 4, 8, 16), at(1e9, 0.0625, 0.125, 0.25)});
  EXPECT_NEAR(*even.low / 4.641588833612779e7, 1, 1e-12);
  EXPECT_NEAR(even.rate / 1e8, 1, 1e-12);
  EXPECT_NEAR(*even.high / 2.1544346900318843e8, 1, 1e-12);
}

TEST(BreakEven, AnEndThatNeverCrossesHasNoBound) {
  const BreakEven even = break_even(std::vector{at(1e7, 4, 8, 16), at(1e9, 0.5, 0.9, 1.1)});
  EXPECT_TRUE(even.low.has_value());
  EXPECT_FALSE(even.high.has_value());
}

TEST(BreakEven, EverywhereNowhereNothing) {
  EXPECT_EQ(break_even(std::vector{at(1e7, 4), at(1e9, 1.01)}).kind, Kind::kPaysEverywhere);
  EXPECT_EQ(break_even(std::vector{at(1e7, 1), at(1e9, 0.5)}).kind, Kind::kPaysNowhere);
  EXPECT_EQ(break_even({}).kind, Kind::kNothingMeasured);
  EXPECT_EQ(break_even(std::vector{at(1e7, 4)}).kind, Kind::kPaysEverywhere);
}

// Faster, slower and neither: an interval that holds 1 tells nothing.
TEST(BreakEven, TellsOnlyWhatIntervalsTell) {
  EXPECT_EQ(pays({1.2, Interval{1.1, 1.3}}), Pays::kYes);
  EXPECT_EQ(pays({0.9, Interval{0.8, 1.0}}), Pays::kNo);
  EXPECT_EQ(pays({1.02, Interval{0.98, 1.05}}), Pays::kOpen);
  EXPECT_EQ(pays({1.02, std::nullopt}), Pays::kYes);
}

TEST(BreakEven, IsOpenWhereAnIntervalHoldsOne) {
  EXPECT_EQ(break_even(std::vector{at(1e7, 3, 4, 5), at(1e9, 0.98, 1.02, 1.05)}).kind, Kind::kOpen);
  EXPECT_EQ(break_even(std::vector{at(1e7, 0.7, 0.9, 1.1), at(1e9, 0.4, 0.5, 0.6)}).kind,
            Kind::kOpen);
  EXPECT_EQ(break_even(std::vector{at(1e7, 0.9, 1.1, 1.2), at(1e9, 0.8, 0.9, 1.1)}).kind,
            Kind::kOpen);
  EXPECT_EQ(break_even(std::vector{at(1e7, 3, 4, 5), at(1e9, 0.8, 0.9, 1.1)}).kind,
            Kind::kPaysBelow);
}

TEST(BreakEven, PaysOnlyAbove) {
  const BreakEven even = break_even(std::vector{at(1e7, 0.2, 0.25, 0.3), at(1e9, 3, 4, 5)});
  EXPECT_EQ(even.kind, Kind::kPaysAbove);
  EXPECT_NEAR(even.rate / 1e8, 1, 1e-12);
  EXPECT_LT(*even.low, even.rate);
  EXPECT_GT(*even.high, even.rate);
}

TEST(BreakEven, OfSeveralCrossingsTheHighestStopCounts) {
  const BreakEven even =
      break_even(std::vector{at(1e6, 2), at(1e7, 0.5), at(1e8, 2), at(1e10, 0.5)});
  EXPECT_EQ(even.crossings, 3);
  EXPECT_NEAR(even.rate / 1e9, 1, 1e-12);
}

}  // namespace
}  // namespace thinpipe
