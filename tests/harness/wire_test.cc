#include "harness/sweep/wire.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(Wire, CountsWhatCameBetweenTwoReadings) {
  const WireCount before = {100, 1, {{"rack0", 50, 40}}, {{"rack0-spine", 10, 20, 1}}};
  const WireCount after = {400, 3, {{"rack0", 350, 240}}, {{"rack0-spine", 110, 70, 2}}};
  const WireCount count = between(before, after);
  EXPECT_EQ(count.sent, 300U);
  EXPECT_EQ(count.drops, 2U);
  EXPECT_EQ(count.switches[0].in, 300U);
  EXPECT_EQ(count.switches[0].out, 200U);
  EXPECT_EQ(trunks_json(count).dump(),
            R"([{"down_bytes":50,"drops":1,"link":"rack0-spine","up_bytes":100}])");
}

}  // namespace
}  // namespace thinpipe
