// Compares the bytes that cross a link under a schedule with the schedule's integral. The test
// itself generates the traffic between two hosts. These tests are not part of netem_tests, which
// also run in a guest kernel that is too slow for them.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "netem/probe.h"
#include "netem/verify/trial.h"
#include "tests/netem/helpers.h"

namespace thinpipe {
namespace {

struct Played {
  TrialResult result;
  /// Goodput / the bits that the schedule allows.
  double ratio() const { return result.goodput / result.expected; }
  void expect(double tolerance) const {
    require(std::fabs(result.deviation()) < tolerance,
            fmt::format("{:.4f} of its integral, not within {:g}", ratio(), tolerance));
  }
};

// A link under a schedule for some seconds.
Played play(Network& network, const std::string& schedule, const char* link = "rate=100mbit",
            const TrialOptions& options = {.seconds = 2}, double share = kMachineShare) {
  const Played played{valid(
      [&] {
        return try_schedule(network, parse_link_spec(link), parse_schedule(schedule), options);
      },
      share)};
  fmt::print("{:<60} {} {} to {}: {:.4f} of {:.4g} bit/s, {} changes, late {:.2g} s (95 %)\n",
             schedule, link, options.from, options.to, played.ratio(), played.result.expected,
             played.result.player.changes, played.result.player.late_p95);
  require(!played.result.links_take_turns, "one link is the narrowest all the time");
  return played;
}

TrialOptions between(int from, int to) {
  TrialOptions options{.seconds = 2};
  options.from = from;
  options.to = to;
  return options;
}

constexpr const char *kLink = "rate=40mbit", *kSmallQueue = "rate=40mbit,queue=64kb";

// The program's promise for a schedule that changes nothing. On the idle machine it was 0.0015.
constexpr double kCostsNothing = 0.005;
// The rest is left to the machine, whose three losses may come together: overruns of timed waits,
// the hypervisor's time, and segments that TCP sends again.
constexpr double kMachineCosts = (kCostsNothing - 0.0015) / 3;
// A change that is 1 ms late (the bucket's length) moves 1 % of the bytes of 100 ms. Frames in
// transit at either end are 0.01 % of 2 s. A busy machine costs a valid measurement at most 1 %.
constexpr double kTolerance = 0.02;
// A switch drops frames that do not fit into its queue. When the time ends, frames that wait for a
// dropped one have not arrived: up to the queue's 64 kB, of the 3.75 MB that 15 Mbit/s are in 2 s.
constexpr double kBehindSwitch = 0.04;

TEST(ScheduleDelivery, ChangingNothingTwentyTimesASecondCostsNothing) {
  measure_between_two([](Network& network) {
    TrialOptions options{.seconds = 2};
    options.player.longest = 0.05;
    options.player.tell_always = true;
    const Played played =
        play(network, "steps:0s=100%", "rate=100mbit", options, kMachineCosts);
    require(played.result.player.changes >= 30, "the kernel was updated all the time");
    played.expect(kCostsNothing);
  });
}

TEST(ScheduleDelivery, HalvingTheRateEvery100MillisecondsDeliversTheIntegral) {
  measure_between_two([](Network& network) {
    play(network, "steps:0s=100%,100ms=50%,repeat=200ms").expect(kTolerance);
    play(network, "steps:0s=100%,100ms=50%,200ms=25%,300ms=12.5%,400ms=6.25%,repeat=500ms")
        .expect(kTolerance);
  });
}

TEST(ScheduleDelivery, DeliversTheIntegralOfRampsAndWaves) {
  measure_between_two([](Network& network) {
    play(network, "ramp:0s=10%,1s=100%,2s=10%,repeat=2s").expect(kTolerance);
    play(network, "sine:low=20%,high=100%,period=700ms").expect(kTolerance);
  });
}

// A straggler: its links vary, the others' stay.
TEST(ScheduleDelivery, OnlyTheHostThatIsNamedVaries) {
  measure_in_sandbox([] {
    Network network(3);
    const char* schedule = "host2:steps:0s=50%,100ms=25%,repeat=200ms";
    play(network, schedule, kLink, between(0, 1)).expect(kTolerance);
    play(network, schedule, kSmallQueue, between(0, 2)).expect(kBehindSwitch);
    play(network, schedule, kLink, between(2, 1)).expect(kTolerance);
  });
}

TEST(ScheduleDelivery, AnUplinkOfARackVaries) {
  measure_in_sandbox([] {
    Network network(4, parse_topology("racks:oversubscription=2"));
    const char* schedule = "rack0:steps:0s=50%,100ms=25%,repeat=200ms";
    play(network, schedule, kLink, between(0, 1)).expect(kTolerance);
    play(network, schedule, kLink, between(2, 3)).expect(kTolerance);
    play(network, schedule, kSmallQueue, between(0, 2)).expect(kBehindSwitch);
    play(network, schedule, kSmallQueue, between(2, 0)).expect(kBehindSwitch);
  });
}

TEST(ScheduleDelivery, LinksBetweenSitesVaryEachByItself) {
  measure_in_sandbox([] {
    Network network(3, parse_topology("wan:sites=3,hosts=(rate=100mbit)"));
    const char* schedule = "site0-site1:steps:0s=100%,100ms=50%,repeat=200ms";
    for (const int to : {2, 1})  // that stays, and that varies
      play(network, schedule, "rate=20mbit,queue=64kb", between(0, to)).expect(kBehindSwitch);
  });
}

TEST(ScheduleDelivery, WithOverheadAndAtTheSwitchToo) {
  const bool ifb = probe_kernel().ifb.available;
  measure_between_two([&](Network& network) {
    const char* schedule = "steps:0s=100%,100ms=50%,repeat=200ms";
    play(network, schedule, "rate=40mbit,overhead=24").expect(kTolerance);
    play(network, schedule, "rate=20mbit,mtu=9000").expect(kTolerance);
    if (ifb) play(network, schedule, "rate=40mbit,place=switch").expect(kBehindSwitch);
  });
}

TEST(ScheduleDelivery, NothingCrossesInAnOutageAndTcpGoesOnAfterwards) {
  measure_between_two([](Network& network) {
    const Played played = play(network, "outage:first=500ms,lasts=700ms");
    // When the outage begins, at most kLateSeconds late, a bucket of 1 ms may still be let through.
    // Then nothing crosses until the outage ends; the waiting frame then crosses at most
    // kChangeLatency late. The receiver may read the last bytes before the outage a tick late, if
    // another process has its core then.
    constexpr double kTick = 4e-3;  // s: kernels with 250 Hz
    const double gap = played.result.longest_gap;
    require(gap > 0.7 - kLateSeconds - 1e-3 - kTick && gap < 0.7 + kChangeLatency,
            fmt::format("a gap of {} s", gap));
    played.expect(kTolerance);
  });
}

TEST(ScheduleDelivery, AnOutageThatLastsUntilTheEndIsAGap) {
  measure_between_two([](Network& network) {
    const double gap = play(network, "outage:first=1s,lasts=100s").result.longest_gap;
    // The outage is the second of two seconds, and begins at most a few ms late.
    require(gap > 0.9, fmt::format("a gap of {} s", gap));
  });
}

TEST(ScheduleDelivery, FramesOfManyMillisecondsStillAddUp) {
  measure_between_two([](Network& network) {
    // At the schedule's lowest rate, 62.5 kbit/s, a frame takes 194 ms. Over the whole schedule 160
    // frames cross in 5 s. At either end of the time one frame is in transit, and a receiver reads
    // whole frames, so the tolerance is 3 of 160.
    play(network, "steps:0s=100%,100ms=50%,200ms=25%,300ms=12.5%,400ms=6.25%,repeat=500ms",
         "rate=1mbit", {.seconds = 5})
        .expect(3.0 / 160 + kMachineShare);
  });
}

}  // namespace
}  // namespace thinpipe
