// Schedules that play: the clock, the player, the gate's message against a layout written by hand
// from linux/pkt_sched.h, and the rates that the keeper chooses for a simulated queue.
#include "netem/schedule/player.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "netem/link/qdisc.h"
#include "netem/probe.h"
#include "netem/real_nic/saved_qdiscs.h"
#include "netem/schedule/throttle.h"
#include "netem/verify/measure_flows.h"
#include "tests/netem/helpers.h"

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
  clock.stand_at(101.5);  // however far it has gone on since
  usleep(2000);
  EXPECT_EQ(clock.now(), 101.5);
  clock.go_from(3, 1000);  // in 1000 s it is 3
  EXPECT_LT(clock.now(), 3 - 900);
  EXPECT_EQ(clock.setting().number, 3U);
}

// If the machine was switched on a moment ago, a schedule that is started from its middle began
// before that. A timer accepts no moment before the machine was switched on, and the moment 0
// disarms the timer.
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

// Runs `check` in a sandbox with a schedule on the links of a star.
void with_player(int hosts, const char* link, const char* schedule,
                 const std::function<void(Network&, SchedulePlayer&)>& check,
                 int code = kExitGood) {
  const auto body = [&] {
    Network network(hosts);
    SchedulePlayer player(network, network.plan(parse_link_spec(link)), parse_schedule(schedule));
    check(network, player);
  };
  expect_in_sandbox(body, code);
}

TEST(SchedulePlayer, StopsAtOnceAndOpensWhatWasHeld) {
  with_player(2, "rate=10mbit", "outage:first=0s,lasts=1000s", [](Network&, auto& player) {
    player.start();
    const double begin = player.now();
    player.stop();
    // That end is 1000 s away: a tenth of it shows, however busy the machine is.
    require(player.now() - begin < 100, "it waited for the end of the outage");
    player.stop();  // again is nothing
    player.check();
    require(player.links().at(0).up.at(500).rate == 0, "the requested schedule");
  });
}

// Waits until there are `count` changes, because the thread acts a little later than it is
// notified. Returns their number.
std::uint64_t changes_from(const SchedulePlayer& player, std::uint64_t count) {
  for (int i = 0; i < 5000 && player.report().changes < count; ++i) usleep(1000);
  player.check();
  return player.report().changes;
}

void await_changes(const SchedulePlayer& player, std::uint64_t count) {
  const std::uint64_t changes = changes_from(player, count);
  require(changes == count, fmt::format("{} changes, expected {}", changes, count));
}

// Calls `act`, which sets the clock, and waits for a change. There may be several while the clock
// goes: a thread that wakes up just before a scheduled change, late, first sets the mean rate of an
// interval across the change.
void await_more_changes(SchedulePlayer& player, const std::function<void()>& act) {
  const std::uint64_t before = player.report().changes;
  act();
  require(changes_from(player, before + 1) > before, fmt::format("still {} changes", before));
}

// The schedule sets 50 % from 10 s on. No link changes while the clock is stopped before 10 s. All
// links change as soon as the clock is stopped after 10 s, or has run past 10 s.
TEST(SchedulePlayer, LinksAreWhatTheClockSaysAlsoWhereItIsSetAndHeld) {
  with_player(2, "rate=10mbit", "steps:0s=100%,10s=50%", [](Network&, SchedulePlayer& player) {
    player.stand(20);
    await_changes(player, 1);
    player.stand(9.99);
    await_changes(player, 2);
    usleep(50'000);
    await_changes(player, 2);
    require(player.now() == 9.99, "it stands");
    await_more_changes(player, [&] { player.start(0, 9.99); });
    require(player.now() > 9.99, "it has gone on");
    // As a step's end that was earlier than anybody knew.
    await_more_changes(player, [&] { player.stand(9.5); });
    await_more_changes(player, [&] { player.start(0, 50); });
    player.stop();
    require(player.drift().empty(), "the kernel has the settings that it was sent");
  });
}

// 50 % of 10 Mbit/s are 625000 bytes/s, in both directions.
TEST(SchedulePlayer, TheKernelHasTheRateOfTheMoment) {
  with_player(1, "rate=10mbit", "steps:0s=100%,10s=50%", [](Network& network, auto& player) {
    const auto expect = [&](std::uint64_t rate) {
      const auto look = [&](const char* interface) {
        const std::string difference = Netlink().qdisc_difference(
            interface, {0x10000, 0x10001}, htb_class_request({.rate = rate}));
        require_has(difference, "htb burst");  // another one: so there is a class at all
        require(difference.find("htb rate") == std::string::npos, difference);
      };
      network.host(0).inside([&] { look("thin0"); });
      network.switch_at(0).inside([&] { look("data0"); });
    };
    expect(1'250'000);
    player.stand(20);
    await_changes(player, 1);
    expect(625'000);
    player.stop();
  });
}

// So that it began before most machines were switched on.
TEST(SchedulePlayer, BeginsInTheMidst) {
  with_player(2, "rate=10mbit", "steps:0s=100%,1000000s=50%", [](Network&, auto& player) {
    player.start(0, 1e6 - 0.01);
    require(changes_from(player, 1) >= 1, "the corner was passed");  // and nothing ended the thread
    player.stop();
  });
}

// A schedule's links are read back as well, and compared with the settings sent last.
TEST(SchedulePlayer, SeesWhatSomebodyElseChanged) {
  expect_in_sandbox([] {
    Network network(2);
    const auto played = [&](const std::string& schedule) {
      auto player = std::make_unique<SchedulePlayer>(
          network, network.plan(parse_link_spec("rate=10mbit")), parse_schedule(schedule));
      player->start();
      while (player->now() < 0.03) usleep(1000);
      player->stop();
      player->check();
      return player;
    };
    for (const char* schedule : {"steps:0s=100%,10ms=50%", "outage:first=0s,lasts=1s"})
      require(played(schedule)->drift().empty(), schedule);
    const auto player = played("steps:0s=100%,10ms=50%");
    network.host(1).inside([] {
      Netlink().set_qdisc("thin0", {0x10000, 0x10001},
                          htb_class_request({.rate = 9'000'000, .burst = 20000, .quantum = 60000}));
    });
    network.switch_at(0).inside([] { Netlink().delete_root_qdisc("data0"); });
    const std::vector<std::string> found = player->drift();
    require(found.size() == 2 && found[0].find("host0: htb on data0") < 20 &&
                found[1].find("host1: htb class on thin0: htb rate") < 20,
            fmt::format("{}", fmt::join(found, " | ")));
  });
}

TEST(SchedulePlayer, SharesAreOfEachDirectionsOwn) {
  with_player(1, "up.rate=10mbit,down.rate=40mbit", "steps:0s=100%,1s=50%",
              [](Network&, const SchedulePlayer& player) {
                const LinkMean mean = player.mean(0, 0, 2);
                require(mean.up_rate == 7.5e6 && mean.down_rate == 30e6, "rates");
              });
}

TEST(SchedulePlayer, RefusesLinksWithoutARate) {
  with_player(
      1, "delay=10ms", "outage:first=1s,lasts=1s", [](Network&, SchedulePlayer&) {}, kExitUsage);
}

// Returns the kind of an interface's root qdisc on host `at`: "htb", "tbf" or another.
std::string root_at(const Host& at, const std::string& interface) {
  std::string kind;
  at.inside([&] { kind = read_qdiscs(interface_index(interface)).at(0).kind; });
  return kind;
}

// Only scheduled links can change, at their shapers; all others are as without a schedule.
TEST(SchedulePlayer, PutsItsThrottlesWhereLinksThatChangeAreShaped) {
  expect_in_sandbox([] {
    Network network(4, parse_topology("racks"));
    const SchedulePlayer player(
        network, network.plan(parse_link_spec("rate=20mbit")),
        parse_schedule("host3:steps:0s=100%,1s=50%;rack0:outage:first=1s,lasts=1s"));
    const auto roots = [&](int link) {
      return root_at(network.lower(link), network.shaped(link).lower_interface()) + " " +
             root_at(network.upper(link), network.shaped(link).upper_interface());
    };
    require(roots(0) == "tbf tbf" && roots(5) == "tbf tbf", "host0 and rack1 stay");
    require(roots(3) == "htb htb", "host3");
    require(roots(4) == "htb htb", "rack0-spine");
    require(player.mean(3, 0, 2).up_rate == 15e6, "host3 changes");
    require(player.mean(4, 1, 2).down_rate == 0, "rack0 is out");
    require(player.mean(0, 0, 2).up_rate == 20e6, "host0 does not change");
    require(player.bits(0, true, 0, 2) == 40e6, "bits of a link that does not change");
  });
}

TEST(SchedulePlayer, ShapesAtTheSwitchWhereTheLinkDoes) {
  if (!probe_kernel().ifb.available) GTEST_SKIP() << probe_kernel().ifb.detail;
  const auto check = [](const Network& network, SchedulePlayer&) {
    require(root_at(network.host(0), "thin0") == "bfifo", "the host sends as it can");
    require(root_at(network.switch_at(0), "up0") == "htb", "its IFB has the rate");
    require(root_at(network.switch_at(0), "data0") == "htb", "and so does the downlink");
  };
  with_player(2, "rate=20mbit,place=switch", "steps:0s=100%,1s=50%", check);
}

// A setting that the kernel does not keep is found out, and named.
TEST(ScheduleQdisc, ReadsBackWhatItSet) {
  expect_in_sandbox([] {
    Network network(1);
    network.host(0).inside([] {
      ScheduleQdisc qdisc("thin0", {.highest_rate = 1e8, .queue = 100000});
      const auto complaint = [&] { return run_error([&] { qdisc.check(); }); };
      for (const double rate : {1e8, 1e3, 5e9, 0.0, 2e7}) {
        qdisc.set_rate(rate);
        require(complaint().empty(), complaint());
      }
      // Somebody else sets a rate that was not requested.
      Netlink().set_qdisc("thin0", {0x10000, 0x10001},
                          htb_class_request({.rate = 2500001, .burst = 20000, .quantum = 60000}));
      require(complaint() ==
                  "htb class of 20000000 bit/s on thin0: the kernel applied other settings: htb "
                  "rate in bytes/s (TCA_HTB_RATE64): requested 2500000, got 2500001; htb ceil in "
                  "bytes/s (TCA_HTB_CEIL64): requested 2500000, got 2500001; htb burst in 64 ns "
                  "(TCA_HTB_PARMS): requested 18938, got 125000; htb cburst in 64 ns "
                  "(TCA_HTB_PARMS): requested 18938, got 125000",
              complaint());
      qdisc.set_rate(2e7);
      Netlink().set_qdisc("thin0", {0x10001, 0x20000},
                          gate_request({.open = false, .cut = 12500, .limit = 100000}));
      require_has(complaint(), "gate mpu (TCA_TBF_PARMS): requested 0, got 65535");
    });
  });
}

// Overhead is charged, and counted as it is charged.
TEST(ScheduleQdisc, CountsTheOverheadOfEveryFrame) {
  expect_in_sandbox([] {
    Network network(2);
    std::unique_ptr<ScheduleQdisc> qdisc;
    network.host(0).inside([&] {
      qdisc = std::make_unique<ScheduleQdisc>(
          "thin0", ScheduleQdiscSettings{.highest_rate = 1e8, .queue = 100000, .overhead = 24});
    });
    measure_round_trip(network, {0, 1}, 5);
    const std::uint64_t frame = 14 + 20 + 8 + 64;
    require(qdisc->read().bytes == 5 * (frame + 24), "five frames and their overhead");
    require(qdisc->largest_packet() == 12500 + 24, "a bucket of 1 ms, and the overhead");
  });
}

TEST(SchedulePlayer, SaysWhichInterfaceIsMissing) {
  expect_in_sandbox([] {
    require_has(run_error([] { ScheduleQdisc("nowhere0", {.highest_rate = 1e6}); }), "nowhere0");
  });
}

// tc_ratespec: cell_log, linklayer, overhead (2), cell_align (2), mpu (2), rate (4).
TEST(Gate, OpenIsNoThrottle) {
  const QdiscRequest request = gate_request({.open = true, .cut = 12500, .limit = 625000});
  EXPECT_EQ(request.kind, "tbf");
  EXPECT_EQ(hex(request.options),
            "28000100 00010000 00000000 ffffffff 00000000 00000000 00000000 68890900 04000000 "
            "00000000 "                    // limit; 250 ns at 50 GB/s are 4 ticks
            "0c000400 00743ba4 0b000000 "  // 50000000000
            "08000600 d4300000");          // the bucket, to which packets are cut
  EXPECT_EQ(settings_of(request.mismatches(request.options)), "");
}

TEST(Gate, ShutTakesEveryPacketForLargerThanItsBucket) {
  const QdiscRequest request = gate_request({.open = false, .cut = 12500, .limit = 625000});
  // (65535 - 12500) bytes a millisecond: 53035000 bytes/s, at which 12500 take 235.7 us.
  EXPECT_EQ(
      hex(request.options),
      "28000100 00010000 0000ffff f83f2903 00000000 00000000 00000000 68890900 630e0000 00000000");
  EXPECT_EQ(settings_of(request.mismatches(request.options)), "");
  // However large packets are cut when it is open.
  const QdiscRequest wide = gate_request({.open = false, .cut = 80000, .limit = 625000});
  EXPECT_EQ(hex(wide.options).substr(18, 17), "0000ffff 18755400");  // 5535000 bytes/s: 60000 fit
}

TEST(Gate, NamesWhatTheKernelKeepsOtherwise) {
  const QdiscRequest open = gate_request({.open = true, .cut = 12500, .limit = 625000});
  const QdiscRequest shut = gate_request({.open = false, .cut = 12500, .limit = 5000});
  EXPECT_EQ(settings_of(open.mismatches(shut.options)),
            "gate rate in bytes/s (TCA_TBF_RATE64): 50000000000 53035000\n"
            "gate limit (TCA_TBF_PARMS): 625000 5000\n"
            "gate mpu (TCA_TBF_PARMS): 0 65535\n"
            "gate bucket in 64 ns of transmit time (TCA_TBF_PARMS): 4 3683\n");
}

constexpr double kPiece = 1514;  // bytes

// Simulates HTB with one class and a queue that is always full. A frame leaves when HTB has the
// tokens for the previous frame, and costs its transmission time at the rate of that moment. While
// the gate is closed, no frame leaves, and tokens for two frames accumulate.
class FullQueue {
 public:
  QueueReading read() const { return {bytes_, 1}; }
  void run(double rate, double from, double to) {
    if (rate <= 0) return;
    for (free_ = std::max(free_, from - 2 * 8 * kPiece / rate); free_ < to;
         free_ += 8 * kPiece / rate)
      bytes_ += static_cast<std::uint64_t>(kPiece);
  }
  double bits() const { return 8.0 * static_cast<double>(bytes_); }

 private:
  std::uint64_t bytes_ = 0;
  double free_ = 0;
};

// Simulates 60 s in spans of 100 ms; `late` is the delay of each change.
double crossed(const Schedule& schedule, bool keep, double late = 0) {
  FullQueue queue;
  RateKeeper keeper(schedule, kPiece);
  double rate = 0;
  for (int i = 0; i < 600; ++i) {
    const double due = i * 0.1, next = due + 0.1;
    queue.run(rate, due, due + late);
    const double now = due + late;
    rate = keep ? keeper.plan(now, next, queue.read()) : schedule.mean(due, next).rate;
    queue.run(rate, now, next);
  }
  return queue.bits();
}

Schedule schedule_of(const std::string& text) { return parse_schedule(text).on({1e6, 0, 0}); }

TEST(RateKeeper, MakesUpForFramesThatBlockTheLink) {
  // A frame takes 12 ms at 1 Mbit/s and 194 ms at 62.5 kbit/s.
  const Schedule schedule =
      schedule_of("steps:0s=100%,100ms=50%,200ms=25%,300ms=12.5%,400ms=6.25%,repeat=500ms");
  const double due = schedule.bits(0, 60);
  EXPECT_LT(crossed(schedule, false), 0.8 * due);  // HTB alone
  EXPECT_NEAR(crossed(schedule, true), due, 0.02 * due);
}

TEST(RateKeeper, NeverLeavesTheIntegralByMoreThanAFewFrames) {
  for (const char* text : {"steps:0s=100%,100ms=50%,repeat=200ms",
                           "sine:low=10%,high=100%,period=3s", "ramp:0s=10%,30s=100%,60s=10%",
                           "outage:every=1s,lasts=300ms", "walk:low=5%,high=100%,step=50%"}) {
    const Schedule schedule = schedule_of(text);
    EXPECT_NEAR(crossed(schedule, true), schedule.bits(0, 60), 4 * 8 * kPiece) << text;
  }
}

TEST(RateKeeper, MakesUpForChangesThatComeLate) {
  const Schedule schedule = schedule_of("steps:0s=100%,100ms=20%,repeat=200ms");
  for (const double late : {0.002, 0.02})
    EXPECT_NEAR(crossed(schedule, true, late), schedule.bits(0, 60), 8 * 8 * kPiece) << late;
}

TEST(RateKeeper, LeavesAConstantRateAlone) {
  const Schedule schedule = schedule_of("steps:0s=100%");
  FullQueue queue;
  RateKeeper keeper(schedule, kPiece);
  for (int i = 0; i < 100; ++i) {
    EXPECT_NEAR(keeper.plan(i * 0.1, i * 0.1 + 0.1, queue.read()), 1e6, 1) << i;
    queue.run(1e6, i * 0.1, i * 0.1 + 0.1);
  }
}

TEST(RateKeeper, AnIdleLinkOwesNothing) {
  const Schedule schedule = schedule_of("steps:0s=100%,100ms=50%,repeat=200ms");
  RateKeeper keeper(schedule, kPiece);
  for (int i = 0; i < 100; ++i)
    EXPECT_NEAR(keeper.plan(i * 0.1, i * 0.1 + 0.1, {0, 0}), i % 2 == 0 ? 1e6 : 0.5e6, 1) << i;
  // Nor one that was idle and then filled: bits that it did not use are gone.
  const double rate = keeper.plan(10, 10.1, {1514, 1});
  EXPECT_NEAR(rate, 1e6, 0.3e6);
}

// The mean over an interval is the rate except for rounding, which may be downwards.
TEST(RateKeeper, TheLowestRateIsNoOutage) {
  const Schedule schedule = schedule_of("steps:0s=1kbit");
  RateKeeper keeper(schedule, kPiece);
  for (int i = 0; i < 1000; ++i)
    EXPECT_NEAR(keeper.plan(i * 0.07, i * 0.07 + 0.07, {0, 0}), 1e3, 1) << i;
}

TEST(RateKeeper, NothingCrossesWhileTheRateIsNone) {
  const Schedule schedule = schedule_of("outage:every=200ms,lasts=100ms,first=0s");
  RateKeeper keeper(schedule, kPiece);
  EXPECT_EQ(keeper.plan(0, 0.1, {0, 1}), 0);
  EXPECT_NEAR(keeper.plan(0.1, 0.2, {0, 1}), 1e6, 1);  // the waiting bits were not due before
}

}  // namespace
}  // namespace thinpipe
