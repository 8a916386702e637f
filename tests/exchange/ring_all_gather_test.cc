#include "workloads/exchange/ring_all_gather.h"

#include <gtest/gtest.h>

#include <random>

#include "base/error.h"
#include "tests/exchange/thread_transport.h"

namespace thinpipe {
namespace {

std::vector<std::byte> message_of(int rank, std::size_t size) {
  std::mt19937 generator(static_cast<unsigned>(rank) + 100);
  std::vector<std::byte> message(size);
  for (std::byte& value : message) value = static_cast<std::byte>(generator());
  return message;
}

// Lengths around the edges of a segment (its first 8 bytes are the length), and none at all.
const std::vector<std::size_t> kLengths = {0, 1, 32760, 32761, 32759, 32768, 65528, 65529, 700001};

class RingAllGatherTest : public testing::TestWithParam<int> {};

TEST_P(RingAllGatherTest, EveryRankGetsEveryMessage) {
  const int ranks = GetParam();
  on_all_ranks(ranks, [&](ThreadTransport& transport) {
    RingAllGather ring(ranks, 700001);
    // The same object serves many steps with ever other lengths.
    for (std::size_t step = 0; step < kLengths.size(); ++step) {
      const auto length = [&](int rank) {
        return kLengths[(step + static_cast<std::size_t>(rank)) % kLengths.size()];
      };
      const auto own = message_of(transport.rank(), length(transport.rank()));
      const auto& messages = ring.run(transport, own);
      ASSERT_EQ(messages.size(), static_cast<std::size_t>(ranks));
      for (int rank = 0; rank < ranks; ++rank) {
        const auto& got = messages[static_cast<std::size_t>(rank)];
        const auto expected = message_of(rank, length(rank));
        ASSERT_TRUE(std::equal(got.begin(), got.end(), expected.begin(), expected.end()))
            << "rank " << transport.rank() << " step " << step << " message of " << rank;
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, RingAllGatherTest, testing::Values(1, 2, 3, 4, 8));

TEST(RingAllGather, SendsEveryMessageButTheRightNeighboursOnce) {
  constexpr std::size_t kSize = 1000;
  on_all_ranks(4, [&](ThreadTransport& transport) {
    RingAllGather ring(4, kSize);
    ring.run(transport, message_of(transport.rank(), kSize));
    // Own and two passed on, each with its 8 bytes of length.
    EXPECT_EQ(transport.counters().bytes, 3 * (kSize + 8));
  });
}

TEST(RingAllGather, RefusesAnImpossibleLength) {
  Mailboxes boxes;
  ThreadTransport liar(boxes, 1, 2), honest(boxes, 0, 2);
  std::vector<std::byte> lie(16, std::byte{0xff});
  liar.send(0, 0, 0, lie);
  RingAllGather ring(2, 100);
  EXPECT_THROW(ring.run(honest, {}), InputError);
}

TEST(RingAllGather, RefusesAnOwnMessageOverItsCapacity) {
  Mailboxes boxes;
  ThreadTransport transport(boxes, 0, 1);
  RingAllGather ring(1, 10);
  EXPECT_THROW(ring.run(transport, std::vector<std::byte>(11)), InputError);
}

}  // namespace
}  // namespace thinpipe
