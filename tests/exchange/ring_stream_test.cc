#include "workloads/exchange/ring_stream.h"

#include <gtest/gtest.h>

#include "tests/exchange/thread_transport.h"

namespace thinpipe {
namespace {

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
