// Links that change while datagrams cross them: delay, loss, and outages.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>

#include "netem/schedule/player.h"
#include "tests/kernel/in_sandbox.h"
#include "tests/kernel/statistics.h"
#include "tests/kernel/train_over.h"

namespace thinpipe {
namespace {

// A train of 100 in 0.2 s that begins at each of the schedule's moments given.
std::vector<std::vector<Arrival>> trains_under(const std::string& link, const std::string& schedule,
                                               const std::vector<double>& moments) {
  TrainOptions train;
  train.spacing = 2e-3;
  const std::vector<double> figures = in_sandbox([&] {
    Network network(2);
    SchedulePlayer player(network, parse_link_spec(link), parse_schedule(schedule));
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

// Of 100 frames lost with 40 %, 20 to 60 arrive missing but for one time in 10,000.
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
