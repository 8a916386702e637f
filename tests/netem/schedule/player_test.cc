#include "netem/schedule/player.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "netem/link/qdisc.h"
#include "netem/probe.h"
#include "netem/real_nic/messages.h"
#include "netem/real_nic/saved_qdiscs.h"
#include "netem/sandbox.h"
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

TEST(SchedulePlayer, StopsAtOnceAndOpensWhatWasHeld) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(2);
              SchedulePlayer player(network, network.plan(parse_link_spec("rate=10mbit")),
                                    parse_schedule("outage:first=0s,lasts=1000s"));
              player.start();
              const double begin = player.now();
              player.stop();
              // That end is 1000 s away: a tenth of it shows, however busy the machine is.
              require(player.now() - begin < 100, "it waited for the end of the outage");
              player.stop();  // again is nothing
              player.check();
              require(player.links().at(0).up.at(500).rate == 0, "the requested schedule");
              return 0;
            }),
            0);
}

// The thread acts a little later than it is notified.
void await_changes(const SchedulePlayer& player, std::uint64_t count) {
  for (int i = 0; i < 5000 && player.report().changes < count; ++i) usleep(1000);
  player.check();
  require(player.report().changes == count,
          fmt::format("{} changes, expected {}", player.report().changes, count));
}

// The schedule sets 50 % from 10 s on. No link changes while the clock is stopped before 10 s. All
// links change as soon as the clock is stopped after 10 s, or has run past 10 s.
TEST(SchedulePlayer, LinksAreWhatTheClockSaysAlsoWhereItIsSetAndHeld) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(2);
              SchedulePlayer player(network, network.plan(parse_link_spec("rate=10mbit")),
                                    parse_schedule("steps:0s=100%,10s=50%"));
              player.stand(20);
              await_changes(player, 1);
              player.stand(9.99);
              await_changes(player, 2);
              usleep(50'000);
              await_changes(player, 2);
              require(player.now() == 9.99, "it stands");
              player.start(0, 9.99);
              await_changes(player, 3);
              require(player.now() >= 10, "it has gone on");
              player.stand(9.5);  // as a step's end that was earlier than anybody knew
              await_changes(player, 4);
              player.start(0, 50);
              await_changes(player, 5);
              player.stop();
              require(player.drift().empty(), "the kernel has the settings that it was sent");
              return 0;
            }),
            0);
}

// 50 % of 10 Mbit/s are 625000 bytes/s, in both directions.
TEST(SchedulePlayer, TheKernelHasTheRateOfTheMoment) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(1);
              SchedulePlayer player(network, network.plan(parse_link_spec("rate=10mbit")),
                                    parse_schedule("steps:0s=100%,10s=50%"));
              const auto expect = [&](std::uint64_t rate) {
                const auto look = [&](const char* interface) {
                  const std::string difference = Netlink().class_difference(
                      interface, {0x10000, 0x10001}, htb_class_request({.rate = rate}));
                  // The bucket is another, which shows that a class exists at all.
                  require(difference.find("htb burst") != std::string::npos &&
                              difference.find("htb rate") == std::string::npos,
                          difference);
                };
                network.host(0).inside([&] { look("thin0"); });
                network.switch_at(0).inside([&] { look("data0"); });
              };
              expect(1'250'000);
              player.stand(20);
              await_changes(player, 1);
              expect(625'000);
              player.stop();
              return 0;
            }),
            0);
}

// So that it began before most machines were switched on.
TEST(SchedulePlayer, BeginsInTheMidst) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(2);
              SchedulePlayer player(network, network.plan(parse_link_spec("rate=10mbit")),
                                    parse_schedule("steps:0s=100%,1000000s=50%"));
              player.start(0, 1e6 - 0.01);
              for (int i = 0; i < 5000 && player.now() < 1e6 + 0.05; ++i) usleep(1000);
              player.stop();
              player.check();  // nothing ended the thread
              require(player.report().changes >= 1, "the corner was passed");
              return 0;
            }),
            0);
}

// A schedule's links are read back as well, and compared with the settings sent last.
TEST(SchedulePlayer, SeesWhatSomebodyElseChanged) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(2);
              const auto played = [&](const std::string& schedule) {
                auto player = std::make_unique<SchedulePlayer>(
                    network, network.plan(parse_link_spec("rate=10mbit")),
                    parse_schedule(schedule));
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
                Netlink().set_class(
                    "thin0", {0x10000, 0x10001},
                    htb_class_request({.rate = 9'000'000, .burst = 20000, .quantum = 60000}));
              });
              network.switch_at(0).inside([] { Netlink().delete_root_qdisc("data0"); });
              const std::vector<std::string> found = player->drift();
              require(found.size() == 2 && found[0].find("host0: htb on data0") < 20 &&
                          found[1].find("host1: htb class on thin0: htb rate") < 20,
                      fmt::format("{}", fmt::join(found, " | ")));
              return 0;
            }),
            0);
}

TEST(SchedulePlayer, SharesAreOfEachDirectionsOwn) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(1);
              const SchedulePlayer player(
                  network, network.plan(parse_link_spec("up.rate=10mbit,down.rate=40mbit")),
                  parse_schedule("steps:0s=100%,1s=50%"));
              const LinkMean mean = player.mean(0, 0, 2);
              require(mean.up_rate == 7.5e6 && mean.down_rate == 30e6, "rates");
              return 0;
            }),
            0);
}

TEST(SchedulePlayer, RefusesLinksWithoutARate) {
  EXPECT_EQ(run_in_sandbox([&](const Sandbox&) {
              Network network(1);
              const SchedulePlayer player(network, network.plan(parse_link_spec("delay=10ms")),
                                          parse_schedule("outage:first=1s,lasts=1s"));
              return 0;
            }),
            kExitUsage);
}

// Returns the kind of an interface's root qdisc on host `at`: "htb", "tbf" or another.
std::string root_at(const Host& at, const std::string& interface) {
  std::string kind;
  at.inside([&] { kind = read_qdiscs(interface_index(interface)).at(0).kind; });
  return kind;
}

// Only scheduled links can change, at their shapers; all others are as without a schedule.
TEST(SchedulePlayer, PutsItsThrottlesWhereLinksThatChangeAreShaped) {
  EXPECT_EQ(run_in_sandbox([&](const Sandbox&) {
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
              return 0;
            }),
            0);
}

TEST(SchedulePlayer, ShapesAtTheSwitchWhereTheLinkDoes) {
  if (!probe_kernel().ifb.available) GTEST_SKIP() << probe_kernel().ifb.detail;
  EXPECT_EQ(run_in_sandbox([&](const Sandbox&) {
              Network network(2);
              const SchedulePlayer player(network,
                                          network.plan(parse_link_spec("rate=20mbit,place=switch")),
                                          parse_schedule("steps:0s=100%,1s=50%"));
              require(root_at(network.host(0), "thin0") == "bfifo", "the host sends as it can");
              require(root_at(network.switch_at(0), "up0") == "htb", "its IFB has the rate");
              require(root_at(network.switch_at(0), "data0") == "htb", "and so does the downlink");
              return 0;
            }),
            0);
}

// A setting that the kernel does not keep is found out, and named.
TEST(ScheduleQdisc, ReadsBackWhatItSet) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(1);
              network.host(0).inside([] {
                ScheduleQdisc qdisc("thin0", {.highest_rate = 1e8, .queue = 100000});
                const auto complaint = [&]() -> std::string {
                  try {
                    qdisc.check();
                  } catch (const RunError& error) {
                    return error.what();
                  }
                  return "";
                };
                for (const double rate : {1e8, 1e3, 5e9, 0.0, 2e7}) {
                  qdisc.set_rate(rate);
                  require(complaint().empty(), complaint());
                }
                // Somebody else sets a rate that was not requested.
                Netlink().set_class(
                    "thin0", {0x10000, 0x10001},
                    htb_class_request({.rate = 2500001, .burst = 20000, .quantum = 60000}));
                require(complaint() ==
                            "htb class of 20000000 bit/s on thin0: the kernel applied other "
                            "settings: htb rate in bytes/s (TCA_HTB_RATE64): requested 2500000, "
                            "got 2500001; htb ceil in bytes/s (TCA_HTB_CEIL64): requested "
                            "2500000, got 2500001; htb burst in 64 ns (TCA_HTB_PARMS): requested "
                            "18938, got 125000; htb cburst in 64 ns (TCA_HTB_PARMS): requested "
                            "18938, got 125000",
                        complaint());
                qdisc.set_rate(2e7);
                Netlink().set_qdisc("thin0", {0x10001, 0x20000},
                                    gate_request({.open = false, .cut = 12500, .limit = 100000}));
                require(complaint().find("gate mpu (TCA_TBF_PARMS): requested 0, got 65535") !=
                            std::string::npos,
                        complaint());
              });
              return 0;
            }),
            0);
}

// Overhead is charged, and counted as it is charged.
TEST(ScheduleQdisc, CountsTheOverheadOfEveryFrame) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              Network network(2);
              std::unique_ptr<ScheduleQdisc> qdisc;
              network.host(0).inside([&] {
                qdisc = std::make_unique<ScheduleQdisc>(
                    "thin0",
                    ScheduleQdiscSettings{.highest_rate = 1e8, .queue = 100000, .overhead = 24});
              });
              measure_round_trip(network, {0, 1}, 5);
              const std::uint64_t frame = 14 + 20 + 8 + 64;
              require(qdisc->read().bytes == 5 * (frame + 24), "five frames and their overhead");
              require(qdisc->largest_packet() == 12500 + 24, "a bucket of 1 ms, and the overhead");
              return 0;
            }),
            0);
}

TEST(SchedulePlayer, SaysWhichInterfaceIsMissing) {
  EXPECT_EQ(run_in_sandbox([](const Sandbox&) {
              try {
                const ScheduleQdisc qdisc("nowhere0", {.highest_rate = 1e6, .queue = 100000});
              } catch (const RunError& error) {
                return std::string(error.what()).find("nowhere0") != std::string::npos ? 0 : 1;
              }
              return 2;
            }),
            0);
}

}  // namespace

}  // namespace thinpipe
