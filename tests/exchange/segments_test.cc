#include "workloads/exchange/segments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace thinpipe {
namespace {

TEST(Parts, AreAsEvenAsCanBeAndFollowEachOther) {
  for (const std::size_t elements : {0, 1, 7, 8192, 8193, 100003})
    for (const std::size_t count : {1, 2, 3, 8}) {
      const Parts parts{elements, count};
      std::size_t at = 0, segment = 0;
      for (std::size_t part = 0; part < count; ++part) {
        const std::size_t size = elements / count + (part < elements % count ? 1 : 0);
        EXPECT_EQ(parts.begin(part), at);
        EXPECT_EQ(parts.size(part), size);
        EXPECT_EQ(parts.first_segment(part), segment);
        at += size;
        // 8192 floats are 32 kB.
        segment += size / 8192 + (size % 8192 > 0 ? 1 : 0);
      }
      EXPECT_EQ(at, elements);
      EXPECT_EQ(parts.segments(0, count), segment);
      EXPECT_EQ(parts.size(0, count), elements);
    }
}

TEST(Parts, OfSixteenBitElementsHaveTwiceAsManyInASegment) {
  const Parts parts{3 * 16384 + 1, 2, 2};
  EXPECT_EQ(parts.segment(), 16384U);
  EXPECT_EQ(parts.first_segment(1), 2U);  // 24577 elements, then 24576
  EXPECT_EQ(parts.segments(0, 2), 4U);
}

TEST(Segments, OfBytes) {
  EXPECT_EQ(segments_of_bytes(0), 0U);
  EXPECT_EQ(segments_of_bytes(1), 1U);
  EXPECT_EQ(segments_of_bytes(32768), 1U);
  EXPECT_EQ(segments_of_bytes(32769), 2U);
}

using ::testing::ElementsAre;

/// Remembers what is sent; a slot is done when the test says so.
class HeldTransport : public Transport {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  void send(Request slot, int peer, int tag, std::span<const std::byte> data) override {
    EXPECT_EQ(peer, 1);
    EXPECT_EQ(tag, 3);
    EXPECT_EQ(under_way.count(slot), 0U) << "slot " << slot << " is in use";
    under_way.insert(slot);
    slots.push_back(slot);
    sizes.push_back(data.size());
  }
  void receive(Request, int, int, std::span<std::byte>) override { FAIL(); }
  bool done(Request slot, std::size_t*) override { return under_way.count(slot) == 0; }
  void pause() override {}
  void progressed() override {}
  double now() const override { return 0; }
  TransportCounters counters() const override { return {}; }

  std::set<Request> under_way;
  std::vector<Request> slots;
  std::vector<std::size_t> sizes;
};

TEST(SendWindow, TakesItsSlotsInTurnAndWaitsForTheOldest) {
  HeldTransport transport;
  SendWindow window(transport, 1, 10, 3, 3);
  const std::vector<std::byte> data(5);
  EXPECT_TRUE(window.empty());
  EXPECT_FALSE(window.collect());
  for (std::size_t size : {1, 2, 3}) window.send(std::span(data).first(size));
  EXPECT_TRUE(window.full());
  EXPECT_FALSE(window.collect());
  transport.under_way.erase(11);  // not the oldest: there is no room yet
  EXPECT_FALSE(window.collect());
  EXPECT_TRUE(window.full());
  transport.under_way.erase(10);
  EXPECT_TRUE(window.collect());  // both
  EXPECT_FALSE(window.full());
  window.send(std::span(data).first(4));
  window.send(data);
  EXPECT_TRUE(window.full());
  EXPECT_EQ(window.sent(), 5U);
  transport.under_way.clear();
  EXPECT_TRUE(window.collect());
  EXPECT_TRUE(window.empty());
  EXPECT_THAT(transport.slots, ElementsAre(10, 11, 12, 10, 11));
  EXPECT_THAT(transport.sizes, ElementsAre(1, 2, 3, 4, 5));
}

}  // namespace
}  // namespace thinpipe
