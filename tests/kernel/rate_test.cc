// A rate is the traffic that crosses the link in a second, by each of the shapers.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.h"
#include "netem/link/link_spec.h"
#include "tests/kernel/measure.h"
#include "tests/netem/helpers.h"

namespace thinpipe {
namespace {

TEST(Rate, TcpGetsItsShare) {
  for (const char* rate : {"rate=10mbit,burst=32kb", "rate=50mbit,burst=64kb"}) {
    const auto check = in_sandbox([&]() -> std::vector<double> {
      Network network(2);
      const LinkCheck found = verify_link(network, parse_link_spec(rate), {.seconds = 1});
      return {found.goodput, found.ceiling, found.wire_ratio};
    });
    note(std::string(rate) + " delivers", check[0] / 1e6, "Mbit/s");
    EXPECT_NEAR(check[0] / check[1], 1, 0.03) << rate;
    // Handshake, FIN and acknowledgement frames are all that comes on top of full frames.
    EXPECT_GT(check[2], 0.999) << rate;
    EXPECT_LT(check[2], 1.01) << rate;
  }
}

/// Datagrams of 1000 bytes, as fast as they can be sent.
TrainOptions flood(int count = 150) { return {.count = count, .spacing = 0, .bytes = 1000}; }

// A frame of 1000 + 42 bytes takes 2.084 ms at 4 Mbit/s, once the bucket is empty.
TEST(Rate, SpacesDatagramsByTheirLength) {
  const auto arrivals = train_over("rate=4mbit,burst=16kb", flood(200));
  ASSERT_EQ(arrivals.size(), 200U);  // the queue of the link, 256 KiB, holds them all
  const double expected = 1042 * 8 / 4e6;
  const double gap = (arrivals[199].arrived - arrivals[39].arrived) / 160;
  note("mean gap", gap * 1e3, "ms");
  EXPECT_NEAR(gap, expected, 0.03 * expected);
}

// At 4 Mbit/s a queue of 20,000 bytes is emptied in 40 ms. No frame waits longer, and frames that
// do not fit into the queue are dropped.
TEST(Queue, BoundsTheWait) {
  const auto arrivals = train_over("rate=4mbit,burst=16kb,queue=20000", flood(200));
  double longest = 0;
  for (const Arrival& one : arrivals) longest = std::max(longest, one.delay());
  note("longest wait", longest * 1e3, "ms");
  note("arrived", static_cast<double>(arrivals.size()), "of 200");
  EXPECT_GT(longest, 30e-3);
  // The sender's qdisc, then the switch's, whose queue is empty when frames come in at its rate.
  EXPECT_LT(longest, 50e-3);
  EXPECT_LT(arrivals.size(), 200U);
}

// Rates by each of the shapers, in each direction, with overhead; presets; refusals.

constexpr int kFrame = 1000 + 42;  // bytes of a datagram of the trains below, as qdiscs count

// Returns the mean time between arrivals, without the frames that the bucket let through at once.
// Buckets are of 16 KiB, so that timers that are 30 ms late do not lower the rate.
double gap_of(const std::vector<Arrival>& arrivals) {
  constexpr std::size_t kFirst = 40;
  return (arrivals.back().arrived - arrivals.at(kFirst).arrived) /
         static_cast<double>(arrivals.size() - 1 - kFirst);
}

TEST(Shaper, EachSpacesFramesByTheirLength) {
  for (const auto& [link, bits, frame] :
       {std::tuple{"rate=4mbit,burst=16kb", 4e6, kFrame},
        {"rate=4mbit,burst=16kb,shaper=htb", 4e6, kFrame},
        {"rate=4mbit,shaper=netem", 4e6, kFrame},
        {"rate=4mbit,burst=16kb,overhead=24", 4e6, kFrame + 24},
        {"rate=4mbit,burst=16kb,overhead=24,shaper=htb", 4e6, kFrame + 24},
        {"rate=4mbit,overhead=24,shaper=netem", 4e6, kFrame + 24},
        {"rate=4mbit,burst=16kb,place=switch", 4e6, kFrame},
        {"rate=4mbit,burst=16kb,delay=5ms", 4e6, kFrame},
        {"up.rate=2mbit,down.rate=8mbit,burst=16kb", 2e6, kFrame},
        {"up.rate=8mbit,down.rate=2mbit,burst=16kb", 2e6, kFrame}}) {
    const auto arrivals = train_over(link, flood());
    ASSERT_EQ(arrivals.size(), 150U) << link;
    const double wanted = frame * 8 / bits;
    note(link, gap_of(arrivals) / wanted, "of the gap at its rate");
    EXPECT_NEAR(gap_of(arrivals), wanted, 0.02 * wanted) << link;
  }
}

// 0 to 1 crosses 0's uplink, 1 to 0 crosses its downlink.
TEST(Asymmetry, EachDirectionHasItsOwnDelay) {
  const auto delays = in_sandbox([] {
    Network network(2, parse_topology("star:host0=(up.delay=10ms,down.delay=30ms)"));
    network.set_links(parse_link_spec("rate=100mbit"));
    const TrainOptions train = {.count = 50};
    return std::vector<double>{median(delays_of(send_train(network, 0, 1, train))),
                               median(delays_of(send_train(network, 1, 0, train)))};
  });
  note("up", delays[0] * 1e3, "ms");
  note("down", delays[1] * 1e3, "ms");
  EXPECT_NEAR(delays[0], 10e-3, 1e-3);
  EXPECT_NEAR(delays[1], 30e-3, 1.5e-3);
}

// The kernel takes every attribute of every preset, and small datagrams take at
// least the delay.
TEST(Presets, AreTakenByTheKernel) {
  for (const LinkPreset& preset : link_presets()) {
    const LinkSpec link = parse_link_spec(preset.name);
    const auto found = in_sandbox([&] {
      Network network(2);
      network.set_links(link);
      // The linger is more than the path to a satellite and back to the ground.
      const TrainOptions train = {.count = 20, .spacing = 5e-3, .linger = 0.4};
      return std::vector<double>{median(delays_of(send_train(network, 0, 1, train)))};
    });
    note(preset.name, found[0] * 1e3, "ms");
    EXPECT_GT(found[0], 0.5 * link.delay()) << preset.name;
    // 106 bytes on the slowest of them take a millisecond.
    EXPECT_LT(found[0], 1.5 * link.delay() + 3e-3) << preset.name;
  }
}

// Kernels before 6.6 ignore the seed without an error, and the settings that are read back lack it.
// Later kernels lose the same frames again.
TEST(Seed, IsTakenOrRefused) {
  const auto lose = [] {
    std::set<std::uint32_t> arrived;
    for (const Arrival& one :
         fates_over("delay=0.1ms,loss=20%,seed=7", {.count = 300, .spacing = 0}))
      arrived.insert(one.number);
    return arrived;
  };
  std::set<std::uint32_t> first;
  try {
    first = lose();
  } catch (const RunError& error) {
    EXPECT_NE(std::string(error.what()).find("seed"), std::string::npos) << error.what();
    return;
  }
  EXPECT_LT(first.size(), 300U);
  EXPECT_EQ(first, lose());
}

}  // namespace

}  // namespace thinpipe
