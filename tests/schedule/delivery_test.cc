// What crosses a link under a schedule, against its integral, with traffic of our own between two
// hosts. Not among netem_tests: those run in a guest kernel as well, which has not the time.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "base/error.h"
#include "netem/probe.h"
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
  double before = attempt(network, "none").ratio;
  for (int tries = 0; tries < 6; ++tries) {
    const Attempt played = attempt(network, schedule, player);
    const double ratio = played.ratio;
    require(!player.tell_always || played.result.player.changes >= 30, "it was told all the time");
    const double after = attempt(network, "none").ratio;
    if (std::fabs(ratio - (before + after) / 2) < tolerance && std::fabs(ratio - 1) < tolerance)
      return true;
    before = after;
  }
  return false;
}

TEST(ScheduleDelivery, ChangingNothingTwentyTimesASecondCostsNothing) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(2);
              PlayerOptions player;
              player.longest = 0.05;
              player.tell_always = true;
              require(holds(network, "steps:0s=100%", player, 0.005), "goodput within 0.5 %");
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

// Whether the goodput from one host to another comes to within a share of what the schedule lets
// through, in one of a few attempts: a wrong schedule fails them all.
bool delivers(Network& network, const char* link, const char* schedule, int from, int to,
              double tolerance = 0.02) {
  TrialOptions options;
  options.seconds = 2;
  options.from = from;
  options.to = to;
  for (int tries = 0; tries < 5; ++tries) {
    const TrialResult result =
        try_schedule(network, parse_link_spec(link), parse_schedule(schedule), options);
    std::printf("%-60s %s %d to %d: %.4f of %.4g bit/s\n", schedule, link, from, to,
                result.goodput / result.expected, result.expected);
    require(!result.links_take_turns, "one link is the narrowest all the time");
    if (std::fabs(result.deviation()) < tolerance) return true;
  }
  return false;
}

// A straggler: its links vary, the others' stay.
TEST(ScheduleDelivery, OnlyTheHostThatIsNamedVaries) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(3);
              const char* schedule = "host2:steps:0s=50%,100ms=25%,repeat=200ms";
              require(delivers(network, "rate=40mbit", schedule, 0, 1), "the others");
              // Frames that a switch's port has no room for are dropped. TCP makes up for them, but
              // what waits for one of them when the trial ends has not arrived.
              require(delivers(network, "rate=40mbit,queue=64kb", schedule, 0, 2, 0.04),
                      "to the straggler");
              require(delivers(network, "rate=40mbit", schedule, 2, 1), "from it");
              return 0;
            }),
            0);
}

TEST(ScheduleDelivery, AnUplinkOfARackVaries) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(4, parse_topology("racks:oversubscription=2"));
              const char* schedule = "rack0:steps:0s=50%,100ms=25%,repeat=200ms";
              require(delivers(network, "rate=40mbit", schedule, 0, 1), "within the rack");
              require(delivers(network, "rate=40mbit", schedule, 2, 3), "within the other one");
              require(delivers(network, "rate=40mbit,queue=64kb", schedule, 0, 2, 0.04), "up it");
              require(delivers(network, "rate=40mbit,queue=64kb", schedule, 2, 0, 0.04),
                      "and down");
              return 0;
            }),
            0);
}

TEST(ScheduleDelivery, LinksBetweenSitesVaryEachByItself) {
  EXPECT_EQ(
      run_in_sandbox([](const Sandbox&) {
        Network network(3, parse_topology("wan:sites=3,hosts=(rate=100mbit)"));
        const char* schedule = "site0-site1:steps:0s=100%,100ms=50%,repeat=200ms";
        require(delivers(network, "rate=20mbit,queue=64kb", schedule, 0, 2, 0.04), "it stays");
        require(delivers(network, "rate=20mbit,queue=64kb", schedule, 0, 1, 0.04), "it varies");
        return 0;
      }),
      0);
}

TEST(ScheduleDelivery, WithOverheadAndAtTheSwitchToo) {
  const bool ifb = probe_kernel().ifb.available;
  EXPECT_EQ(run_in_sandbox([&](const Sandbox&) {
              Network network(2);
              const char* schedule = "steps:0s=100%,100ms=50%,repeat=200ms";
              require(delivers(network, "rate=40mbit,overhead=24", schedule, 0, 1), "overhead");
              require(delivers(network, "rate=20mbit,mtu=9000", schedule, 0, 1), "large frames");
              if (!ifb) return 0;
              require(delivers(network, "rate=40mbit,place=switch", schedule, 0, 1, 0.04),
                      "switch");
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
