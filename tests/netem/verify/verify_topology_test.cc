#include "netem/verify/verify_topology.h"

#include <gtest/gtest.h>

#include "netem/topology/spec.h"

namespace thinpipe {
namespace {

std::vector<LinkProbe> probes_of(const char* topology, int hosts, const char* link) {
  return link_probes(parse_topology(topology).plan(hosts, parse_link_spec(link)));
}

TEST(Probes, AStarNeedsOne) {
  const auto probes = probes_of("star", 8, "rate=100mbit");
  ASSERT_EQ(probes.size(), 1U);
  EXPECT_EQ(probes[0].hop, (Hop{0, true}));
  EXPECT_EQ(probes[0].flows.size(), 1U);
  EXPECT_TRUE(probes[0].fills);
  EXPECT_DOUBLE_EQ(probes[0].goodput, tcp_ceiling(100e6));
}

TEST(Probes, DirectionsThatDifferAreMeasuredBoth) {
  const auto probes = probes_of("star", 4, "up.rate=10mbit,down.rate=25mbit");
  ASSERT_EQ(probes.size(), 2U);
  EXPECT_TRUE(probes[0].hop.up);
  EXPECT_FALSE(probes[1].hop.up);
  // 25 Mbit/s down to one host take three that send 10.
  EXPECT_EQ(probes[1].flows.size(), 3U);
  for (const Flow& flow : probes[1].flows) EXPECT_EQ(flow.to, probes[1].hop.link);
  EXPECT_DOUBLE_EQ(probes[1].goodput, tcp_ceiling(25e6));
}

TEST(Probes, AnUplinkTakesAsManyFlowsAsFillIt) {
  // Eight hosts of 100 Mbit/s, uplinks of 200.
  const auto probes = probes_of("racks:oversubscription=2", 8, "rate=100mbit");
  ASSERT_EQ(probes.size(), 2U);
  EXPECT_EQ(probes[1].flows.size(), 2U);
  EXPECT_TRUE(probes[1].fills);
  EXPECT_NE(probes[1].flows[0].from, probes[1].flows[1].from);
  EXPECT_NE(probes[1].flows[0].to, probes[1].flows[1].to);
}

TEST(Probes, SayWhenHostsCannotFillALink) {
  const auto probes = probes_of("ps:server=(rate=10x)", 4, "rate=100mbit");
  ASSERT_EQ(probes.size(), 2U);  // a worker's, the server's
  EXPECT_FALSE(probes[1].fills);
  EXPECT_DOUBLE_EQ(probes[1].goodput, tcp_ceiling(300e6));
}

TEST(Probes, LeaveOutWhatHasNoGoodputToHoldAgainst) {
  EXPECT_TRUE(probes_of("star", 4, "unthrottled").empty());
  EXPECT_TRUE(probes_of("star", 4, "rate=10mbit,loss=1%").empty());
  // Loss is on the way down: what host 3 sends has a goodput, what it receives has none.
  const auto probes = probes_of("star:host3=(loss=1%)", 4, "rate=10mbit");
  ASSERT_EQ(probes.size(), 2U);
  for (const LinkProbe& probe : probes) EXPECT_NE(probe.flows[0].to, 3);
}

}  // namespace

}  // namespace thinpipe
