#include <gtest/gtest.h>

#include "netem/schedule/schedule.h"

namespace thinpipe {
namespace {

// Rates a tenth, everything ten times as long, so that as many bits cross in the same share of it.
TEST(SlowedSchedule, IsTheSameInSlowMotion) {
  for (const char* text : {"steps:0s=100%,2s=50%,repeat=4s", "outage:every=3s,lasts=1s",
                           "sine:low=20%,high=100%,period=5s", "steps:of=delay,0s=10ms,1s=30ms"}) {
    SCOPED_TRACE(text);
    const Schedule own = parse_schedule(text).on({1e8, 0.01, 0.001});
    const Schedule slow = own.slowed(10);
    for (const double t : {0.0, 0.4, 1.7, 2.0, 2.5, 7.9}) {
      EXPECT_NEAR(slow.at(10 * t).rate, own.at(t).rate / 10, 1e-3);
      EXPECT_NEAR(slow.at(10 * t).delay, own.at(t).delay * 10, 1e-12);
      EXPECT_NEAR(slow.at(10 * t).loss, own.at(t).loss, 1e-12);
      EXPECT_NEAR(slow.bits(0, 10 * t), own.bits(0, t), 1e-6 * (1 + own.bits(0, t)));
      // While it changes all the time, `interval` is of the real clock.
      // Not by subtraction: both may be kNever.
      EXPECT_FLOAT_EQ(static_cast<float>(slow.next_change(10 * t, 10 * 0.05)),
                      static_cast<float>(10 * own.next_change(t, 0.05)));
    }
    EXPECT_NEAR(slow.most_rate(), own.most_rate() / 10, 1e-6);
  }
}

// Shares are of the link that is emulated, not of the slow one that is set.
TEST(SlowedScheduleSpec, TakesTheSlowLinkAndGivesWhatPlaysOnIt) {
  const ScheduleSpec spec = parse_schedule("steps:0s=100%,2s=50mbit").slowed(10);
  const Schedule slow = spec.on({1e7, 0.1, 0});  // 100 Mbit/s and 10 ms, in slow motion
  EXPECT_NEAR(slow.at(0).rate, 1e7, 1e-3);
  EXPECT_NEAR(slow.at(20).rate, 5e6, 1e-3);
  EXPECT_NEAR(slow.at(0).delay, 0.1, 1e-12);
  EXPECT_EQ(spec.to_string(), parse_schedule("steps:0s=100%,2s=50mbit").to_string());
}

}  // namespace
}  // namespace thinpipe
