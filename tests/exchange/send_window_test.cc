#include "workloads/exchange/send_window.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace thinpipe {
namespace {

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
