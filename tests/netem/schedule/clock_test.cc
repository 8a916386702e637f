#include "netem/schedule/clock.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace thinpipe {
namespace {

TEST(ScheduleClock, StandsAtNothingUntilItIsLetGo) {
  const ScheduleClock clock;
  EXPECT_EQ(clock.now(), 0);
  EXPECT_FALSE(clock.setting().goes);
  EXPECT_EQ(clock.setting().number, 0U);
}

TEST(ScheduleClock, GoesFromWhereItIsToldAndStandsWhereItIsPut) {
  ScheduleClock clock;
  clock.go_from(100);
  const double first = clock.now();
  usleep(2000);
  EXPECT_GE(first, 100);
  EXPECT_GE(clock.now() - first, 0.002);
  clock.stand_at(101.5);  // whatever it has gone on since
  usleep(2000);
  EXPECT_EQ(clock.now(), 101.5);
  clock.go_from(3, 1000);  // in 1000 s it is 3
  EXPECT_LT(clock.now(), 3 - 900);
  EXPECT_EQ(clock.setting().number, 3U);
}

// A schedule that begins in its midst began before the machine was switched on, if that was a
// moment ago; a timer takes no moment before that, and is disarmed by the moment 0.
TEST(ScheduleClock, MomentsBeforeTheMonotonicClocksFirstAreItsFirst) {
  ScheduleClock::Setting setting = {.goes = true, .time = 1e9, .origin = -1e9, .number = 1};
  for (const double t : {0.0, 1e9}) {
    const timespec moment = setting.moment_of(t);
    EXPECT_EQ(moment.tv_sec, 0) << t;
    EXPECT_EQ(moment.tv_nsec, 1) << t;
  }
  setting.origin = 10.25;
  const timespec moment = setting.moment_of(2.5);
  EXPECT_EQ(moment.tv_sec, 12);
  EXPECT_EQ(moment.tv_nsec, 750'000'000);
}

}  // namespace
}  // namespace thinpipe
