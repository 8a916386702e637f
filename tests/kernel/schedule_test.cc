// A schedule on a link, as datagrams see it.
#include <gtest/gtest.h>

#include <chrono>

#include "netem/schedule/player.h"
#include "tests/kernel/in_sandbox.h"
#include "tests/kernel/train_over.h"

namespace thinpipe {
namespace {

// Frames of 1042 bytes at 4 Mbit/s, 0.3 s later at 1 Mbit/s. After a change that came late the
// player holds the rate lower for a while, to make good for frames that left too early: on a guest
// without real-time priority by a twentieth over what is looked at here.
TEST(Schedule, ChangesTheRateWhenItIsDue) {
  constexpr double kFrameBits = 1042 * 8, kFirst = 4e6, kThen = 1e6, kChange = 0.3;
  const auto gaps = in_sandbox([] {
    Network network(2);
    SchedulePlayer player(network, network.plan(parse_link_spec("rate=4mbit,burst=16kb")),
                          parse_schedule("steps:0s=100%,300ms=25%"));
    TrainOptions train;
    train.count = 250;  // which the queue holds
    train.spacing = 0;
    train.bytes = 1000;
    const auto wall = std::chrono::system_clock::now().time_since_epoch();
    player.start();
    const double begin = std::chrono::duration<double>(wall).count();
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

}  // namespace
}  // namespace thinpipe
