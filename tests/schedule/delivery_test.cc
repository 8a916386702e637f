// What crosses a link under a schedule, against its integral, with traffic of our own between two
// hosts. Not among netem_tests: those run in a guest kernel as well, which has not the time.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "base/error.h"
#include "netem/sandbox.h"
#include "netem/schedule/trial.h"

namespace thinpipe {
namespace {

// Expectations inside a sandbox are in another process: they are thrown, and the exit code tells.
void require(bool condition, const std::string& what) {
  if (!condition) throw RunError(what);
}

struct Attempt {
  double ratio = 0;  ///< goodput over what the schedule lets through
  TrialResult result;
};

// A link of 100 Mbit/s (or another) under a schedule for some seconds.
Attempt attempt(Network& network, const std::string& schedule, PlayerOptions player = {},
                const char* link = "rate=100mbit", double seconds = 2) {
  TrialOptions options;
  options.seconds = seconds;
  options.player = player;
  Attempt one;
  one.result = try_schedule(network, parse_link_spec(link), parse_schedule(schedule), options);
  one.ratio = one.result.goodput / one.result.expected;
  std::printf("%-60s %.4f of its integral, %llu changes, late %.2g s (95 %%)\n", schedule.c_str(),
              one.ratio, static_cast<unsigned long long>(one.result.player.changes),
              one.result.player.late_p95);
  return one;
}

// On a machine that does something else at once, a link that nobody touches misses its ceiling too.
// So each attempt is held against such a link just before and after it, and may be repeated.
bool holds(Network& network, const std::string& schedule, const PlayerOptions& player,
           double tolerance) {
  for (int tries = 0; tries < 6; ++tries) {
    const double before = attempt(network, "none").ratio;
    const double ratio = attempt(network, schedule, player).ratio;
    const double after = attempt(network, "none").ratio;
    if (std::fabs(ratio - (before + after) / 2) < tolerance && std::fabs(ratio - 1) < tolerance)
      return true;
  }
  return false;
}

TEST(ScheduleDelivery, ChangingNothingTwentyTimesASecondCostsNothing) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(2);
              PlayerOptions player;
              player.longest = 0.05;
              player.tell_always = true;
              require(holds(network, "none", player, 0.005), "goodput within 0.5 %");
              return 0;
            }),
            0);
}

TEST(ScheduleDelivery, HalvingTheRateEvery100MillisecondsDeliversTheIntegral) {
  EXPECT_EQ(
      run_in_sandbox([](const Sandbox&) {
        Network network(2);
        require(holds(network, "steps:0s=100%,100ms=50%,repeat=200ms", {}, 0.02), "there and back");
        require(
            holds(network, "steps:0s=100%,100ms=50%,200ms=25%,300ms=12.5%,400ms=6.25%,repeat=500ms",
                  {}, 0.02),
            "again and again");
        return 0;
      }),
      0);
}

TEST(ScheduleDelivery, DeliversTheIntegralOfRampsAndWaves) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(2);
              require(holds(network, "ramp:0s=10%,1s=100%,2s=10%,repeat=2s", {}, 0.02), "ramp");
              require(holds(network, "sine:low=20%,high=100%,period=700ms", {}, 0.02), "sine");
              return 0;
            }),
            0);
}

TEST(ScheduleDelivery, NothingCrossesInAnOutageAndTcpGoesOnAfterwards) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(2);
              for (int tries = 0; tries < 6; ++tries) {
                const Attempt one = attempt(network, "outage:first=500ms,lasts=700ms");
                // What was under way arrives, then nothing, and at most 10 ms later the rest.
                const double gap = one.result.longest_gap;
                require(gap > 0.69, "something crossed");
                if (gap < 0.72 && std::fabs(one.ratio - 1) < 0.02) return 0;
              }
              return 1;
            }),
            0);
}

TEST(ScheduleDelivery, FramesOfManyMillisecondsStillAddUp) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(2);
              for (int tries = 0; tries < 6; ++tries) {
                // At 62.5 kbit/s a frame takes 194 ms.
                const double ratio =
                    attempt(
                        network,
                        "steps:0s=100%,100ms=50%,200ms=25%,300ms=12.5%,400ms=6.25%,repeat=500ms",
                        {}, "rate=1mbit", 5)
                        .ratio;
                if (std::fabs(ratio - 1) < 0.03) return 0;
              }
              return 1;
            }),
            0);
}

}  // namespace
}  // namespace thinpipe
