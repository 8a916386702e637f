#include "workloads/exchange/ring_probe.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

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

// Every message that was sent must be received, whoever begins late, or MPI would keep it for the
// next exchange. And a rank that stands still for longer than the others send, so that it finds
// all of it there at once, measures something too.
void stream_with_a_late_rank(int ranks, std::chrono::milliseconds late) {
  Mailboxes boxes;
  std::vector<double> goodputs(static_cast<std::size_t>(ranks));
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      ThreadTransport transport(boxes, rank, ranks);
      if (rank == 0) std::this_thread::sleep_for(late);
      goodputs[static_cast<std::size_t>(rank)] =
          stream_round_ring(transport, {.settle = 0.002, .seconds = 0.01});
    });
  for (std::thread& thread : threads) thread.join();
  for (const double goodput : goodputs) EXPECT_GT(goodput, 0);
  for (const auto& [way, queue] : boxes.messages) {
    EXPECT_TRUE(queue.empty());
    const auto [from, to, tag] = way;
    EXPECT_EQ((from + 1) % ranks, to);
  }
}

TEST(RingStream, EndsWithNothingUnderWay) {
  for (const int ranks : {2, 3})
    for (const int late : {5, 50}) stream_with_a_late_rank(ranks, std::chrono::milliseconds(late));
}

TEST(RingStream, OneRankHasNoNetwork) {
  Mailboxes boxes;
  ThreadTransport transport(boxes, 0, 1);
  EXPECT_EQ(stream_round_ring(transport, {}), 0);
}

}  // namespace
}  // namespace thinpipe
