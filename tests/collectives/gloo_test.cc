// The collective `gloo`: its segments, the order of its messages and of its additions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "base/error.h"
#include "base/splitmix64.h"
#include "tests/collectives/thread_transport.h"
#include "workloads/collectives/collectives.h"
#include "workloads/collectives/traffic.h"

namespace thinpipe {
namespace {

using GlooArrays = std::vector<std::vector<float>>;

// Sums of these values are rounded, so they depend on the order of the additions.
GlooArrays rounded_inputs(std::size_t ranks, std::size_t elements) {
  GlooArrays arrays(ranks, std::vector<float>(elements));
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    SplitMix64 random(rank + 1);
    for (float& value : arrays[rank]) value = static_cast<float>(random.below(1 << 24)) / 1000.0F;
  }
  return arrays;
}

std::size_t rounded_up(std::size_t value, std::size_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Returns the bytes of a rank's chunk, by the formulas of gloo/allreduce.cc for floats.
std::size_t chunk_bytes(std::size_t elements, std::size_t ranks) {
  const std::size_t bytes = elements * 4, most = 1 << 20;
  const std::size_t segments = rounded_up(std::max((bytes + most - 1) / most, ranks * 2), ranks);
  return rounded_up((bytes + segments - 1) / segments, 4) * (segments / ranks);
}

// A chunk's sum begins at the rank before its owner, and goes through all ranks in descending order
// to the owner.
std::vector<float> sums_round_the_ring(const GlooArrays& arrays, float factor) {
  const std::size_t n = arrays.size(), elements = arrays[0].size();
  std::vector<float> sums(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    const std::size_t owner = i * 4 / chunk_bytes(elements, n);
    float sum = arrays[(owner + n - 1) % n][i];
    for (std::size_t before = n - 2; before > 0; --before)
      sum = arrays[(owner + before) % n][i] + sum;
    sums[i] = (arrays[owner][i] + sum) * factor;
  }
  return sums;
}

// The chunks of the longest arrays have three segments, because two would be longer than 1 MiB.
TEST(Gloo, AddsInTheOrderOfItsRing) {
  for (const std::size_t ranks : {2U, 3U, 4U, 5U, 8U}) {
    std::vector<std::size_t> lengths = {0, 1, ranks - 1, 2 * ranks, 100'001};
    if (ranks <= 5) lengths.push_back(ranks * 540'001);
    for (const std::size_t elements : lengths) {
      SCOPED_TRACE(::testing::Message() << ranks << " ranks, " << elements << " elements");
      const GlooArrays arrays = rounded_inputs(ranks, elements);
      const float factor = 1.0F / static_cast<float>(ranks);
      const std::vector<float> expected = sums_round_the_ring(arrays, factor);
      on_all_ranks("gloo", static_cast<int>(ranks), [&](Collective& gloo, int rank) {
        std::vector<float> result(elements, -1.0F);
        operation<AllReduce>(gloo).all_reduce(arrays[static_cast<std::size_t>(rank)], result,
                                              factor);
        EXPECT_TRUE(result == expected) << "rank " << rank;
      });
    }
  }
}

// A segment of 1 MiB would hold 262'144 floats. 2 ranks have 1'100'003 floats in 6 segments of at
// most 183'334 floats, each in 23 messages of 32 kB at most. The last segment has 183'333 floats.
TEST(Gloo, CutsArraysIntoEqualSegments) {
  for (const int rank : {0, 1}) {
    const Traffic traffic = all_reduce_traffic(parse_spec("gloo"), 1'100'003, 2, rank);
    EXPECT_EQ(traffic.sent, (Volume{6 * 23, 4'400'012}));
    EXPECT_EQ(traffic.received, (Volume{6 * 23, 4'400'012}));
  }
  // 3 ranks have 7 floats in segments of 2, 2, 2, 1, 0 and 0. Rank 0 sends chunk 1 (3 floats) and
  // chunk 2 (none), then chunk 0 (4 floats) and chunk 1.
  const Traffic short_ones = all_reduce_traffic(parse_spec("gloo"), 7, 3, 0);
  EXPECT_EQ(short_ones.sent, (Volume{2 + 0 + 2 + 2, 4 * (3 + 0 + 4 + 3)}));
}

struct NothingArrives {};

// Ends the exchange where it would wait.
class ImpatientTransport : public ThreadTransport {
 public:
  using ThreadTransport::ThreadTransport;
  void pause() override { throw NothingArrives(); }
};

// Returns the number of messages that rank 0 of 3 has sent when so many have arrived from rank 1.
std::size_t sent_after(std::size_t arrived) {
  constexpr std::size_t kFloats = 6 * 10;  // in 6 segments
  Mailboxes boxes;
  ThreadTransport next(boxes, 1, 3);
  for (std::size_t i = 0; i < arrived; ++i) next.send(0, 0, 0, std::vector<std::byte>(40));
  const auto gloo =
      make_collective(parse_spec("gloo"), std::make_unique<ImpatientTransport>(boxes, 0, 3), 0);
  const std::vector<float> own(kFloats, 1.0F);
  std::vector<float> result(kFloats);
  try {
    operation<AllReduce>(*gloo).all_reduce(own, result, 1.0F);
  } catch (const NothingArrives&) {
    EXPECT_LT(arrived, 8U);
  }
  return boxes.messages[{0, 2, 0}].size();
}

// Two segments leave at once; each further one waits for the arrival of the segment two rounds
// before. The all-gather begins when all four segments of the reduce-scatter have arrived.
TEST(Gloo, HasTwoSegmentsUnderWay) {
  EXPECT_EQ(sent_after(0), 2U);
  EXPECT_EQ(sent_after(1), 3U);
  EXPECT_EQ(sent_after(2), 4U);
  EXPECT_EQ(sent_after(3), 4U);
  EXPECT_EQ(sent_after(4), 6U);
  EXPECT_EQ(sent_after(5), 7U);
  EXPECT_EQ(sent_after(6), 8U);
  EXPECT_EQ(sent_after(8), 8U);
}

// Lengths: 2 (n - 1) messages of 4 n bytes. Messages: n - 1 of 70'000 bytes, each in 3 messages of
// 32 kB at most.
TEST(Gloo, SendsLengthsRoundTheRingAndMessagesToEveryRank) {
  const std::vector<std::size_t> sizes(4, 70'000);
  const Traffic traffic = all_gather_traffic(parse_spec("gloo"), sizes, 2);
  EXPECT_EQ(traffic.sent, (Volume{6 + 3 * 3, 6 * 16 + 3 * 70'000}));
  EXPECT_EQ(traffic.received, traffic.sent);
}

TEST(Gloo, RefusesAnImpossibleLength) {
  Mailboxes boxes;
  ThreadTransport liar(boxes, 1, 2);
  const std::vector<std::byte> half(8, std::byte{0xff});  // a length for each rank
  liar.send(0, 0, 0, half);
  liar.send(0, 0, 0, half);
  const auto gloo = over_threads("gloo", boxes, 0, 2, 100);
  EXPECT_THROW(operation<AllGather>(*gloo).all_gather({}), InputError);
  EXPECT_THROW(operation<AllGather>(*gloo).all_gather(std::vector<std::byte>(101)), InputError);
}

}  // namespace
}  // namespace thinpipe
