#include "netem/verify/machine_watch.h"

#include <gtest/gtest.h>

#include "base/clock.h"
#include "tests/netem/measured.h"

namespace thinpipe {
namespace {

TEST(Disturbance, AQuietMachineIsNone) {
  EXPECT_EQ(Disturbance{}.reason(), "") << "too short for the kernel's ticks";
  EXPECT_EQ(
      (Disturbance{.idle = 0.02, .late_p95 = 2e-3, .stalled = 0.01, .repeated = 0.01}.reason()),
      "");
}

TEST(Disturbance, NamesTheSignThatIsOverItsLimit) {
  EXPECT_EQ(Disturbance{.idle = 0.004}.reason(), "idle 0.4 %");
  EXPECT_EQ(Disturbance{.late_p95 = 3e-3}.reason(), "5 % of timed waits late by 3 ms or more");
  EXPECT_EQ(Disturbance{.stalled = 0.05}.reason(), "timed waits late for 5.0 % of the time");
  EXPECT_EQ(Disturbance{.repeated = 0.02}.reason(), "2.0 % of the payload sent twice without need");
}

TEST(Disturbance, ATighterBoundLeavesTheMachineLess) {
  const Disturbance little{.stalled = 0.004};
  EXPECT_EQ(little.reason(), "");
  EXPECT_EQ(little.reason(0.001), "timed waits late for 0.4 % of the time");
}

TEST(Disturbance, OfTwoTheWorseOfEachSign) {
  const Disturbance first{.late_p95 = 2e-3, .stalled = 0.01};
  const Disturbance second{.idle = 0.5, .late_p95 = 1e-3, .stalled = 0.02, .repeated = 0.1};
  const Disturbance worse = worse_of(first, second);
  EXPECT_EQ(worse.idle, 0.5);
  EXPECT_EQ(worse_of(worse, {.idle = 0.4}).idle, 0.4);
  EXPECT_EQ(worse.late_p95, 2e-3);
  EXPECT_EQ(worse.stalled, 0.02);
  EXPECT_EQ(worse.repeated, 0.1);
}

TEST(MachineWatch, GivesWhatWasMeasuredAndSharesOfItsTime) {
  const auto measured = watched([] {
    wait_until(now_seconds() + 0.15);
    return 7;
  });
  EXPECT_EQ(measured.value, 7);
  EXPECT_GE(measured.machine.idle.value_or(0), 0);
  EXPECT_LE(measured.machine.idle.value_or(0), 1);
  EXPECT_GE(measured.machine.stalled, 0);
  EXPECT_LT(measured.machine.stalled, 1);
  EXPECT_GT(measured.machine.late_p95, 0);
}

TEST(MachineWatch, MayEndBeforeItHasBegun) {
  for (int i = 0; i < 20; ++i) {
    MachineWatch watch;
    EXPECT_GT(watch.stop().late_p95, 0);
  }
}

}  // namespace

}  // namespace thinpipe
