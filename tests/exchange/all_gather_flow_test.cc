// Every pattern's all-gather of messages of different sizes, and of messages that come to where
// they are sent from while they are sent.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/error.h"
#include "tests/exchange/plan_patterns.h"
#include "tests/exchange/thread_transport.h"
#include "workloads/exchange/flows.h"
#include "workloads/exchange/pattern.h"
#include "workloads/exchange/patterns.h"
#include "workloads/exchange/segments.h"

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

// Comes in steps; what has not come is something else.
class SlowMessage : public StagedGather {
 public:
  SlowMessage(std::vector<std::byte> whole, std::size_t step)
      : whole_(std::move(whole)), here_(whole_.size(), std::byte{0xff}), step_(step) {}

  std::span<const std::byte> own() const override { return here_; }
  std::size_t ready() override {
    ++asked_;
    if (asked_ % 3 != 0) return ready_;
    const std::size_t next = std::min(whole_.size(), ready_ + step_);
    std::copy(whole_.begin() + static_cast<std::ptrdiff_t>(ready_),
              whole_.begin() + static_cast<std::ptrdiff_t>(next),
              here_.begin() + static_cast<std::ptrdiff_t>(ready_));
    return ready_ = next;
  }
  void arrived(int rank, std::span<const std::byte> message) override {
    EXPECT_TRUE(arrived_.emplace(rank, std::vector(message.begin(), message.end())).second);
  }

  const std::map<int, std::vector<std::byte>>& all() const { return arrived_; }
  bool is_here() const { return ready_ == whole_.size(); }

 private:
  std::vector<std::byte> whole_, here_;
  std::size_t step_, ready_ = 0, asked_ = 0;
  std::map<int, std::vector<std::byte>> arrived_;
};

std::vector<std::byte> staged_message(int rank, std::size_t size) {
  std::vector<std::byte> message(size);
  for (std::size_t i = 0; i < size; ++i)
    message[i] = static_cast<std::byte>((i * 7 + static_cast<std::size_t>(rank) * 31) % 251);
  return message;
}

// By pattern: what comes late arrives as what was there at once does, and every rank is told of
// every other's message once.
TEST(StagedGather, ArrivesWholeWhereverItComesFrom) {
  for (const char* pattern : {"ring", "recursive-doubling", "tree", "hierarchical:group=2"})
    for (const std::size_t size :
         {std::size_t{0}, std::size_t{1}, kSegmentBytes - 8, kSegmentBytes, 3 * kSegmentBytes + 5})
      for (const std::size_t step : {std::size_t{1000}, kSegmentBytes, std::size_t{1} << 20}) {
        SCOPED_TRACE(std::string(pattern) + ", " + std::to_string(size) + " bytes by " +
                     std::to_string(step));
        constexpr int kRanks = 4;
        Mailboxes boxes;
        std::mutex one_at_a_time;  // of expectations
        on_all_ranks(boxes, kRanks, [&](std::unique_ptr<Transport> transport) {
          const int rank = transport->rank();
          const auto made = make_pattern(parse_spec(pattern), std::move(transport), size);
          for (int round = 0; round < 2; ++round) {
            SlowMessage own(staged_message(rank, size), step);
            const auto& messages = made->gather_staged(own);
            const std::lock_guard lock(one_at_a_time);
            EXPECT_TRUE(own.is_here());
            for (int other = 0; other < kRanks; ++other) {
              const auto expected = staged_message(other, size);
              const auto found = messages[static_cast<std::size_t>(other)];
              EXPECT_TRUE(std::vector(found.begin(), found.end()) == expected);
              if (other == rank) continue;
              ASSERT_EQ(own.all().count(other), 1U);
              EXPECT_TRUE(own.all().at(other) == expected);
            }
          }
        });
      }
}

// What it sends from the beginning while its end has not come.
TEST(StagedGather, TheFrontLeavesBeforeTheEndIsHere) {
  constexpr std::size_t kSize = 4 * kSegmentBytes;
  Mailboxes boxes;
  // Its end comes when its front has arrived at the other rank.
  class Waiting : public StagedGather {
   public:
    explicit Waiting(Mailboxes& all) : boxes_(all) {}
    std::span<const std::byte> own() const override { return whole_; }
    std::size_t ready() override {
      const std::lock_guard lock(boxes_.mutex);
      left_ = left_ || !boxes_.messages[{0, 1, 0}].empty();
      return left_ ? kSize : 2 * kSegmentBytes;
    }
    void arrived(int, std::span<const std::byte>) override {}
    bool left() const { return left_; }

   private:
    Mailboxes& boxes_;
    std::vector<std::byte> whole_ = staged_message(0, kSize);
    bool left_ = false;
  };
  ThreadTransport first(boxes, 0, 2);
  AllGatherFlow flow({{.out = true, .peer = 1, .messages = {0}}}, 2, kSize);
  Waiting own(boxes);
  flow.run(first, own);
  EXPECT_TRUE(own.left());
}

}  // namespace
}  // namespace thinpipe
