// A schedule on a link, as datagrams see it: rate, delay, loss and outages.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "netem/link/netlink.h"
#include "netem/link/qdisc.h"
#include "netem/schedule/player.h"
#include "netem/verify/sockets.h"
#include "tests/kernel/measure.h"

namespace thinpipe {
namespace {

// Frames of 1042 bytes are sent at 4 Mbit/s, and 0.3 s later at 1 Mbit/s. After a late change the
// player keeps the rate lower for a while, to compensate for frames that left too early. On a guest
// without real-time priority the rate is a twentieth lower over the time of this test.
TEST(Schedule, ChangesTheRateWhenItIsDue) {
  constexpr double kFrameBits = 1042 * 8, kFirst = 4e6, kThen = 1e6, kChange = 0.3;
  const auto gaps = in_sandbox([] {
    Network network(2);
    SchedulePlayer player(network, network.plan(parse_link_spec("rate=4mbit,burst=16kb")),
                          parse_schedule("steps:0s=100%,300ms=25%"));
    // 250 datagrams fit into the queue.
    const TrainOptions train = {.count = 250, .spacing = 0, .bytes = 1000};
    const double begin = wall_clock();
    player.start();
    const std::vector<Arrival> arrivals = send_train(network, 0, 1, train);
    player.stop();
    player.check();
    // Between the first and last arrival well before the change, and well after it.
    std::vector<double> found;
    for (const auto& [from, to] : {std::pair{0.1, kChange - 0.02}, {kChange + 0.2, 1.05}}) {
      double first = 0, last = 0, count = 0;
      for (const Arrival& one : arrivals) {
        const double at = one.arrived - begin;
        if (at < from || at > to) continue;
        if (count++ == 0) first = at;
        last = at;
      }
      found.push_back((last - first) / (count - 1));
    }
    return found;
  });
  note("gap before", gaps[0] * 1e3, "ms");
  note("gap after", gaps[1] * 1e3, "ms");
  EXPECT_NEAR(gaps[0], kFrameBits / kFirst, 0.03 * kFrameBits / kFirst);
  EXPECT_NEAR(gaps[1], kFrameBits / kThen, 0.15 * kFrameBits / kThen);
}

// Somebody else changes the delay that the player set on host 1's downlink.
TEST(Schedule, AnotherDelayIsDrift) {
  const std::vector<double> found = in_sandbox([] {
    Network network(2);
    SchedulePlayer player(network, network.plan(parse_link_spec("rate=10mbit")),
                          parse_schedule("steps:of=delay,0s=5ms,10s=9ms"));
    player.start();
    while (player.now() < 0.1) usleep(1000);
    player.stop();
    const std::size_t before = player.drift().size();
    network.switch_at(0).inside([] {
      NetemSettings settings;
      settings.impairment.delay = std::chrono::milliseconds(7);
      Netlink().set_qdisc("data1", {0x20001, 0x30000}, netem_request(settings));
    });
    const std::vector<std::string> after = player.drift();
    const bool named = after.size() == 1 && after[0].find("host1: qdisc netem on data1") == 5;
    return std::vector<double>{static_cast<double>(before), static_cast<double>(named)};
  });
  EXPECT_EQ(found, (std::vector<double>{0, 1}));
}

// Sends a train of 100 datagrams in 0.2 s from the first host to the last. A train begins at each
// of the given moments of the schedule.
std::vector<std::vector<Arrival>> trains_under(const std::string& link, const std::string& schedule,
                                               const std::vector<double>& moments,
                                               const std::string& topology = "star") {
  const TrainOptions train = {.spacing = 2e-3};
  const std::vector<double> figures = in_sandbox([&] {
    Network network(2, parse_topology(topology));
    SchedulePlayer player(network, network.plan(parse_link_spec(link)), parse_schedule(schedule));
    player.start();
    std::vector<double> all;
    for (const double moment : moments) {
      while (player.now() < moment) usleep(1000);
      const std::vector<double> one = to_figures(send_train(network, 0, 1, train));
      all.push_back(static_cast<double>(one.size()));
      all.insert(all.end(), one.begin(), one.end());
    }
    player.check();
    return all;
  });
  std::vector<std::vector<Arrival>> trains;
  for (auto at = figures.begin(); at != figures.end();) {
    const auto size = static_cast<std::ptrdiff_t>(*at++);
    trains.push_back(to_arrivals({at, at + size}));
    at += size;
  }
  return trains;
}

TEST(ScheduledLink, DelayGoesUpAndDownAgain) {
  const auto trains =
      trains_under("rate=10mbit", "steps:of=delay,0s=20ms,1s=60ms,2s=0ms", {0.1, 1.1, 2.1});
  ASSERT_EQ(trains.size(), 3U);
  const double wanted[] = {20e-3, 60e-3, 0};
  for (std::size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(trains[i].size(), 100U);
    note("delay", median(delays_of(trains[i])) * 1e3, "ms");
    EXPECT_GE(quantile(delays_of(trains[i]), 0), wanted[i]);
    EXPECT_NEAR(median(delays_of(trains[i])), wanted[i], std::max(1e-3, 0.05 * wanted[i]));
  }
}

// With 40 % loss, 20 to 60 of 100 frames are missing, except in one case out of 10,000.
TEST(ScheduledLink, LossComesAndGoes) {
  const auto trains =
      trains_under("rate=10mbit", "steps:of=loss,0s=0%,1s=40%,2s=0%", {0.1, 1.1, 2.1});
  ASSERT_EQ(trains.size(), 3U);
  EXPECT_EQ(trains[0].size(), 100U);
  note("arrived", static_cast<double>(trains[1].size()), "of 100 at 40 % loss");
  EXPECT_GT(trains[1].size(), 40U);
  EXPECT_LT(trains[1].size(), 80U);
  EXPECT_EQ(trains[2].size(), 100U);
}

// A trunk has its delay in both directions, whichever is requested.
TEST(ScheduledLink, TheDelayOfATrunkChangesBothWays) {
  for (const char* trunk : {"rack0", "rack1"}) {  // up the one, down the other
    const auto trains = trains_under(
        "rate=10mbit", std::string(trunk) + ":steps:of=delay,0s=15ms,1s=40ms", {0.1, 1.1}, "racks");
    ASSERT_EQ(trains.size(), 2U);
    const double wanted[] = {15e-3, 40e-3};
    for (std::size_t i = 0; i < 2; ++i) {
      ASSERT_EQ(trains[i].size(), 100U);
      note(trunk, median(delays_of(trains[i])) * 1e3, "ms");
      EXPECT_NEAR(median(delays_of(trains[i])), wanted[i], std::max(1e-3, 0.05 * wanted[i]));
    }
  }
}

// shaper=netem has no token bucket. 100 frames of 1042 bytes take 0.21 s at 4 Mbit/s and 0.83 s at
// 1 Mbit/s. After a link has idled, only one frame passes at once.
TEST(ScheduledLink, WithoutABucketEveryFrameTakesItsTime) {
  const std::vector<double> gaps = in_sandbox([] {
    Network network(2);
    SchedulePlayer player(network, network.plan(parse_link_spec("rate=4mbit,shaper=netem")),
                          parse_schedule("steps:0s=100%,1s=25%"));
    player.start();
    std::vector<double> found;
    for (const double moment : {0.1, 1.2}) {
      while (player.now() < moment) usleep(1000);
      const std::vector<Arrival> arrivals =
          send_train(network, 0, 1, {.count = 100, .spacing = 0, .bytes = 1000});
      found.push_back((arrivals.back().arrived - arrivals.front().arrived) / 99);
    }
    player.check();
    return found;
  });
  note("gap before", gaps[0] * 1e3, "ms");
  note("gap after", gaps[1] * 1e3, "ms");
  EXPECT_NEAR(gaps[0], 1042 * 8 / 4e6, 0.05 * 1042 * 8 / 4e6);
  EXPECT_NEAR(gaps[1], 1042 * 8 / 1e6, 0.05 * 1042 * 8 / 1e6);
}

// Datagrams sent during an outage wait, and arrive when it ends.
TEST(ScheduledLink, AnOutageHoldsFramesBack) {
  const auto trains =
      trains_under("rate=10mbit,delay=5ms", "outage:first=600ms,lasts=100ms", {0.5});
  ASSERT_EQ(trains.size(), 1U);
  ASSERT_EQ(trains[0].size(), 100U);
  double gap = 0;
  for (std::size_t i = 1; i < trains[0].size(); ++i)
    gap = std::max(gap, trains[0][i].arrived - trains[0][i - 1].arrived);
  note("longest gap", gap * 1e3, "ms");
  EXPECT_GT(gap, 95e-3);
  EXPECT_LT(gap, 115e-3);
}

}  // namespace

}  // namespace thinpipe
