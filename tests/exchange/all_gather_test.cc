// Every pattern's all-gather of messages of different sizes.
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/exchange/plan_patterns.h"
#include "tests/exchange/thread_transport.h"
#include "workloads/exchange/patterns.h"

namespace thinpipe {
namespace {

constexpr std::size_t kCapacity = 700001;

// Each rank's bytes are its own.
std::vector<std::byte> message_of(int rank, std::size_t size) {
  std::vector<std::byte> message(size);
  for (std::size_t i = 0; i < size; ++i)
    message[i] = static_cast<std::byte>((i * 2654435761U + static_cast<unsigned>(rank)) >> 8);
  return message;
}

// Lengths around the edges of a segment (its first 8 bytes are the length), and none at all.
const std::vector<std::size_t> kLengths = {0,     1,     32760, 32761,    32759,
                                           32768, 65528, 65529, kCapacity};

class AllGatherTest : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(AllGatherTest, EveryRankGetsEveryMessage) {
  const auto& [pattern, ranks] = GetParam();
  Mailboxes boxes;
  on_all_ranks(boxes, ranks, [&, count = ranks](std::unique_ptr<ThreadTransport> transport) {
    const int self = transport->rank();
    const auto own =
        make_pattern(parse_spec(std::get<0>(GetParam())), std::move(transport), kCapacity);
    // The same object serves many steps with ever other lengths.
    for (std::size_t step = 0; step < kLengths.size(); ++step) {
      const auto length = [&](int rank) {
        return kLengths[(step + static_cast<std::size_t>(rank)) % kLengths.size()];
      };
      const auto& messages = own->all_gather(message_of(self, length(self)));
      ASSERT_EQ(messages.size(), static_cast<std::size_t>(count));
      for (int rank = 0; rank < count; ++rank) {
        const auto& got = messages[static_cast<std::size_t>(rank)];
        const auto expected = message_of(rank, length(rank));
        ASSERT_TRUE(std::equal(got.begin(), got.end(), expected.begin(), expected.end()))
            << "rank " << self << " step " << step << " message of " << rank;
      }
    }
  });
  for (const auto& [way, queue] : boxes.messages) EXPECT_TRUE(queue.empty()) << "left over";
}

INSTANTIATE_TEST_SUITE_P(Patterns, AllGatherTest,
                         ::testing::Combine(::testing::ValuesIn(plan_patterns()),
                                            ::testing::Values(1, 2, 3, 4, 5, 7, 8)),
                         plan_pattern_name);

TEST(AllGather, RefusesAnImpossibleLength) {
  for (const std::size_t size : {16, 4}) {
    Mailboxes boxes;
    ThreadTransport liar(boxes, 1, 2);
    const std::vector<std::byte> lie(size, std::byte{0xff});
    liar.send(0, 0, 0, lie);
    const auto honest =
        make_pattern(parse_spec("ring"), std::make_unique<ThreadTransport>(boxes, 0, 2), 100);
    EXPECT_THROW(honest->all_gather({}), InputError);
  }
}

TEST(AllGather, RefusesASegmentPastTheEnd) {
  Mailboxes boxes;
  ThreadTransport liar(boxes, 1, 2);
  std::vector<std::byte> lie(20);
  lie[0] = std::byte{2};
  liar.send(0, 0, 0, lie);
  const auto honest =
      make_pattern(parse_spec("ring"), std::make_unique<ThreadTransport>(boxes, 0, 2), 100);
  EXPECT_THROW(honest->all_gather({}), InputError);
}

TEST(AllGather, RefusesAnOwnMessageOverItsCapacity) {
  Mailboxes boxes;
  const auto pattern =
      make_pattern(parse_spec("tree"), std::make_unique<ThreadTransport>(boxes, 0, 1), 10);
  EXPECT_THROW(pattern->all_gather(std::vector<std::byte>(11)), InputError);
}

}  // namespace
}  // namespace thinpipe
