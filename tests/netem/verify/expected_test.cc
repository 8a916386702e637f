#include "netem/verify/expected.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(Expected, AcknowledgementsTakeTheirShare) {
  const LinkSpec link = parse_link_spec("rate=100mbit");
  EXPECT_DOUBLE_EQ(ceiling_beside_acks(link, 0), link.tcp_ceiling());
  // 4000 a second of 66 bytes are 2.112 Mbit/s.
  EXPECT_NEAR(ceiling_beside_acks(link, 4000), (100e6 - 2.112e6) * 1448 / 1514, 1);
  // Each is charged `overhead`, too; the slower direction decides.
  EXPECT_NEAR(
      ceiling_beside_acks(parse_link_spec("up.rate=50mbit,down.rate=80mbit,overhead=24"), 1000),
      (50e6 - 720e3) * 1448 / 1538, 1);
  EXPECT_EQ(ceiling_beside_acks(LinkSpec{}, 1000), 0);
}

TEST(Expected, WaitsInEveryQueueThatFills) {
  // Both directions as fast: the second has nothing to wait for.
  EXPECT_NEAR(queue_wait(parse_link_spec("rate=8mbit,queue=20000"), 1.25).seconds, 0.02, 1e-9);
  // 1.25 times 8 Mbit/s are more than 9: 20 ms at 8, and 16 at 10.
  const LinkSpec both = parse_link_spec("up.rate=10mbit,down.rate=8mbit,queue=20000");
  EXPECT_NEAR(queue_wait(both, 1.2).seconds, 0.02, 1e-9);
  EXPECT_NEAR(queue_wait(both, 1.5).seconds, 0.036, 1e-9);
  // What is sent at once reaches the second queue 2 Mbit/s faster than it drains: 160 kbit in 80
  // ms.
  EXPECT_NEAR(queue_wait(both, 1.2).filling, 0.08, 1e-9);
  EXPECT_NEAR(queue_wait(parse_link_spec("up.rate=8mbit,queue=20000"), 2).seconds, 0.02, 1e-9);
  // 24 bytes more for each of 1514.
  EXPECT_NEAR(queue_wait(parse_link_spec("rate=8mbit,queue=20000,overhead=24"), 1.25).seconds,
              0.02 * 1538 / 1514, 1e-9);
}

TEST(Expected, TheLesserOfTwoBucketsGivesCredit) {
  EXPECT_EQ(burst_credit(parse_link_spec("rate=10mbit,up.burst=9000,down.burst=5000"), 1514), 5000);
  EXPECT_EQ(burst_credit(parse_link_spec("rate=10mbit,up.burst=5000,down.burst=9000"), 1514), 5000);
  // Of the slower direction, where they differ.
  EXPECT_EQ(
      burst_credit(parse_link_spec("up.rate=9mbit,down.rate=10mbit,up.burst=9000,down.burst=5000"),
                   1514),
      9000);
  EXPECT_EQ(burst_credit(parse_link_spec("down.rate=10mbit,down.burst=5000"), 1514), 5000);
  // HTB owes for the last frame; netem saves nothing.
  EXPECT_EQ(burst_credit(parse_link_spec("rate=10mbit,burst=5000,shaper=htb"), 1000), 6000);
  EXPECT_EQ(burst_credit(parse_link_spec("rate=10mbit,shaper=netem"), 1000), 1000);
}

TEST(Expected, LossOfBothWaysAndOfDamage) {
  EXPECT_EQ(expected_loss(parse_link_spec("rate=1mbit"), 64), 0);
  EXPECT_NEAR(expected_loss(parse_link_spec("up.loss=10%,down.loss=20%"), 64), 0.28, 1e-12);
  // p / (p + r) of the frames find it bad.
  EXPECT_NEAR(expected_loss(parse_link_spec("loss=ge:1%/9%"), 64), 0.1, 1e-12);
  // One bit in 106 bytes, 6 of which nobody looks at.
  EXPECT_NEAR(expected_loss(parse_link_spec("corrupt=10%"), 64), 0.1 * 100 / 106, 1e-12);
  // Doubled first: then one of the two is lost.
  EXPECT_NEAR(expected_loss(parse_link_spec("loss=20%,duplicate=50%"), 64), 0.1, 1e-12);
}

TEST(Expected, LossesInCompanyCountLess) {
  EXPECT_EQ(loss_clustering(parse_link_spec("loss=10%")), 1);
  EXPECT_NEAR(loss_clustering(parse_link_spec("loss=10%/25%")), 1.25 / 0.75, 1e-12);
  // Two states that lose all and nothing: 1 + 2 m / (1 - m), where m = 1 - 0.01 - 0.09.
  EXPECT_NEAR(loss_clustering(parse_link_spec("loss=ge:1%/9%")), 1 + 2 * 0.9 / 0.1, 1e-9);
}

}  // namespace
}  // namespace thinpipe
