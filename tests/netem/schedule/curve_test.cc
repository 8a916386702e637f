#include "netem/schedule/curve.h"

#include <gtest/gtest.h>

#include <cmath>

namespace thinpipe {
namespace {

// The midpoint rule with many steps: plainly right, and good to about 1e-6 of what is summed where
// the curve jumps rarely.
double summed(const ScheduleCurve& curve, double from, double to) {
  constexpr int kSteps = 400000;
  const double width = (to - from) / kSteps;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) sum += curve.at(from + (i + 0.5) * width) * width;
  return sum;
}

TEST(TableCurve, StepsHoldUntilTheNext) {
  const CurvePtr curve = table_curve({{0, 100}, {5, 20}, {6, 50}}, false);
  EXPECT_EQ(curve->at(0), 100);
  EXPECT_EQ(curve->at(4.999), 100);
  EXPECT_EQ(curve->at(5), 20);  // the value from then on
  EXPECT_EQ(curve->at(1e6), 50);
  EXPECT_EQ(curve->integral(0, 10), 5 * 100 + 20 + 4 * 50);
  EXPECT_EQ(curve->integral(4, 5.5), 110);
  EXPECT_EQ(curve->next_corner(0), 5);
  EXPECT_EQ(curve->next_corner(5), 6);
  EXPECT_EQ(curve->next_corner(6), kNever);
  EXPECT_TRUE(curve->steady_after(2));
  EXPECT_EQ(curve->least(), 20);
  EXPECT_EQ(curve->most(), 100);
}

TEST(TableCurve, RepeatsFromItsPeriodOn) {
  const CurvePtr curve = table_curve({{0, 100}, {1, 0}}, false, 3);
  EXPECT_EQ(curve->at(3), 100);
  EXPECT_EQ(curve->at(4), 0);
  EXPECT_EQ(curve->integral(0, 30), 1000);
  EXPECT_EQ(curve->integral(2.5, 3.5), 50);
  EXPECT_EQ(curve->next_corner(1), 3);
  EXPECT_EQ(curve->next_corner(3), 4);
}

TEST(TableCurve, RampsAreStraight) {
  const CurvePtr curve = table_curve({{0, 0}, {10, 100}, {12, 100}}, true, 20);
  EXPECT_EQ(curve->at(5), 50);
  EXPECT_EQ(curve->integral(0, 10), 500);
  EXPECT_EQ(curve->integral(0, 20), 500 + 200 + 800);  // the last value holds until the period
  EXPECT_FALSE(curve->steady_after(5));
  EXPECT_TRUE(curve->steady_after(11));
  EXPECT_TRUE(curve->steady_after(15));
  EXPECT_NEAR(curve->integral(3.25, 47.5), summed(*curve, 3.25, 47.5), 0.05);
}

TEST(TableCurve, CornersAlwaysLieAhead) {
  // 0.1 has no exact double: going from corner to corner must not stand still all the same.
  const CurvePtr curve = table_curve({{0, 1}, {0.1, 2}, {0.2, 3}}, false, 0.3);
  double t = 0;
  for (int i = 0; i < 10000; ++i) {
    const double next = curve->next_corner(t);
    ASSERT_GT(next, t);
    ASSERT_LT(next, t + 0.11);
    t = next;
  }
  // Each is met once, or twice where rounding puts it before itself.
  EXPECT_GT(t, 900);
}

TEST(SineCurve, IntegratesInClosedForm) {
  const CurvePtr curve = sine_curve(60, 40, 8, 1);
  EXPECT_NEAR(curve->at(1), 100, 1e-12);  // (1 + 1) / 8 of a turn: the top
  EXPECT_NEAR(curve->at(5), 20, 1e-12);
  EXPECT_NEAR(curve->integral(0, 8), 480, 1e-9);
  EXPECT_NEAR(curve->integral(0.5, 13.75), summed(*curve, 0.5, 13.75), 1e-5);
  EXPECT_EQ(curve->next_corner(0), kNever);
  EXPECT_FALSE(curve->steady_after(0));
}

TEST(OutageCurve, IsNothingMeanwhileAndTheInnerGoesOn) {
  const CurvePtr inner = table_curve({{0, 100}, {2.5, 40}}, false);
  const CurvePtr curve = outage_curve(inner, {.first = 2, .every = 10, .lasts = 1});
  EXPECT_EQ(curve->at(1.9), 100);
  EXPECT_EQ(curve->at(2), 0);
  EXPECT_EQ(curve->at(2.9), 0);
  EXPECT_EQ(curve->at(3), 40);
  EXPECT_EQ(curve->integral(0, 10), 200 + 7 * 40);
  EXPECT_EQ(curve->integral(2.25, 2.75), 0);
  EXPECT_EQ(curve->next_corner(0), 2);
  EXPECT_EQ(curve->next_corner(2), 3);  // 2.5 shows nowhere
  EXPECT_EQ(curve->next_corner(3), 12);
  EXPECT_TRUE(curve->steady_after(2));
}

TEST(OutageCurve, MayComeOnce) {
  const CurvePtr curve = outage_curve(table_curve({{0, 8}}, false), {.first = 1, .lasts = 0.5});
  EXPECT_EQ(curve->integral(0, 100), 8 * 99.5);
  EXPECT_EQ(curve->next_corner(1.5), kNever);
}

TEST(OutageCurve, ManyShortOnesOverALongTime) {
  const CurvePtr curve =
      outage_curve(table_curve({{0, 1}}, false), {.first = 0.07, .every = 0.1, .lasts = 0.03});
  EXPECT_NEAR(curve->integral(0, 1000), 700, 1e-6);
  double t = 0;
  for (int i = 0; i < 20000; ++i) {
    const double next = curve->next_corner(t);
    ASSERT_GT(next, t);
    t = next;
  }
}

}  // namespace
}  // namespace thinpipe
