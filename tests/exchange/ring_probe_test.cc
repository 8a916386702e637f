#include "workloads/exchange/ring_probe.h"

#include <gtest/gtest.h>

#include "tests/exchange/thread_transport.h"

namespace thinpipe {
namespace {

TEST(RingProbe, TimesEveryExchangeAndLeavesNothingUnderWay) {
  for (const int ranks : {2, 3}) {
    Mailboxes boxes;
    std::vector<RingProbe> probes(static_cast<std::size_t>(ranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        ThreadTransport transport(boxes, rank, ranks);
        probes[static_cast<std::size_t>(rank)] = probe_ring(
            transport, {.small_rounds = 4, .large_rounds = 2, .bytes = 100000, .pause = 1e-4});
      });
    for (std::thread& thread : threads) thread.join();
    for (const RingProbe& probe : probes) {
      EXPECT_EQ(probe.small.size(), 4U);
      EXPECT_EQ(probe.large.size(), 2U);
      for (const double seconds : probe.small) EXPECT_GT(seconds, 0);
      for (const double seconds : probe.large) EXPECT_GT(seconds, 0);
    }
    for (const auto& [way, queue] : boxes.messages) EXPECT_TRUE(queue.empty());
  }
}

}  // namespace
}  // namespace thinpipe
