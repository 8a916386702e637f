#include "harness/launch/machines.h"

#include <gtest/gtest.h>

#include <utility>

namespace thinpipe {
namespace {

WireCount counted(std::uint64_t sent, std::uint64_t drops, std::vector<ThroughSwitch> switches,
                  std::vector<WireCount::OnTrunk> trunks) {
  WireCount count;
  count.sent = sent;
  count.drops = drops;
  count.switches = std::move(switches);
  count.trunks = std::move(trunks);
  return count;
}

TEST(Wire, CountsWhatCameBetweenTwoReadings) {
  const WireCount before = counted(100, 1, {{"rack0", 50, 40}}, {{"rack0-spine", 10, 20, 1}});
  const WireCount after = counted(400, 3, {{"rack0", 350, 240}}, {{"rack0-spine", 110, 70, 2}});
  const WireCount count = between(before, after);
  EXPECT_EQ(count.sent, 300U);
  EXPECT_EQ(count.drops, 2U);
  EXPECT_EQ(count.switches[0].in, 300U);
  EXPECT_EQ(count.switches[0].out, 200U);
  EXPECT_EQ(trunks_json(count).dump(),
            R"([{"down_bytes":50,"drops":1,"link":"rack0-spine","up_bytes":100}])");
}

TEST(Wire, CountsEachHostsSegments) {
  WireCount before, after;
  before.segments_by = {1000, 2000};
  before.retransmitted_by = {0, 5};
  after.segments_by = {1500, 2001};
  after.retransmitted_by = {0, 7};
  const WireCount count = between(before, after);
  EXPECT_EQ(count.segments_by, (std::vector<std::uint64_t>{500, 1}));
  EXPECT_EQ(count.retransmitted_by, (std::vector<std::uint64_t>{0, 2}));
}

// A qdisc that was replaced counts from 0 again: that is no enormous number of bytes.
TEST(Wire, ACounterThatWentBackIsTold) {
  const WireCount before = counted(400, 0, {{"switch", 50, 40}}, {});
  WireCount after = counted(450, 0, {{"switch", 60, 45}}, {});
  EXPECT_FALSE(between(before, after).restarted);
  after.switches[0].out = 39;
  EXPECT_TRUE(between(before, after).restarted);
  EXPECT_EQ(between(before, after).switches[0].out, 0U);
}

}  // namespace

}  // namespace thinpipe
