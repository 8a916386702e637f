#include "netem/topology/time_scale.h"

#include <gtest/gtest.h>

#include <chrono>

#include "base/error.h"
#include "netem/topology/flows.h"
#include "netem/topology/spec.h"

namespace thinpipe {
namespace {

using std::chrono::milliseconds;

TEST(Slowed, RatesAreDividedAndDelaysMultipliedAndBytesStay) {
  const LinkSpec link =
      parse_link_spec("rate=1gbit,delay=10ms,jitter=1ms,loss=1%,up.rate=400mbit,queue=1mb");
  const LinkSpec slow = slowed(link, 4);
  EXPECT_EQ(slow.down.rate, 250e6);
  EXPECT_EQ(slow.up.rate, 100e6);
  EXPECT_EQ(slow.delay(), 4 * link.delay());
  EXPECT_EQ(slow.down.way.delay, milliseconds(40));
  EXPECT_EQ(slow.down.way.jitter, milliseconds(4));
  EXPECT_EQ(slow.down.way.loss.percent, 1);
  EXPECT_EQ(slow.down.queue, link.down.queue);
  // The bucket of the link's own rate: 1 ms of 1 Gbit/s, 4 ms of what is set.
  EXPECT_EQ(slow.down.burst, default_burst(1e9));
  EXPECT_EQ(slow.mtu, link.mtu);
}

TEST(Slowed, EveryLinkOfATopologyIs) {
  const Topology own = parse_topology("racks:uplink=(rate=1gbit,delay=5ms),host1=(rate=40mbit)")
                           .plan(2, parse_link_spec("rate=200mbit"));
  const Topology slow = slowed(own, 4);
  EXPECT_EQ(slow.link(0).down.rate, 50e6);
  EXPECT_EQ(slow.link(1).up.rate, 10e6);
  for (const int trunk : {2, 3}) {
    EXPECT_EQ(slow.link(trunk).up.rate, 250e6);
    EXPECT_EQ(slow.link(trunk).up.way.delay, milliseconds(20));  // both ways, as a trunk has it
    EXPECT_EQ(slow.link(trunk).down.way.delay, milliseconds(20));
    EXPECT_EQ(slow.link(trunk).down.queue, links_as_set(own)[2].with_defaults().down.queue);
  }
  EXPECT_EQ(longest_round_trip(slow), 4 * longest_round_trip(own));
  EXPECT_EQ(links_as_set(slowed(own, 1)), links_as_set(own));
  try {
    slowed(own, 1e-3);
    FAIL();
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("host0: time scale 0.001"), std::string::npos)
        << error.what();
  }
}

TEST(Slowed, LinksWithoutARateAreWarnedOf) {
  const Topology wan = parse_topology("wan:sites=2").plan(2, parse_link_spec("rate=10mbit"));
  const std::vector<std::string> warnings = time_scale_warnings(wan, 2);
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("they count as 2 times as fast"), std::string::npos) << warnings[0];
  EXPECT_TRUE(time_scale_warnings(wan, 1).empty());
}

TEST(Slowed, AQueueInRoundTripsHoldsTheSameBytes) {
  const LinkSpec link = parse_link_spec("rate=80mbit,delay=50ms,queue=2bdp");
  EXPECT_EQ(slowed(link, 10).down.queue, link.with_defaults().down.queue);
  EXPECT_EQ(slowed(link, 0.5).down.queue, link.with_defaults().down.queue);
}

TEST(Slowed, ByOneIsTheSameLink) {
  const LinkSpec link = parse_link_spec("rate=1gbit,delay=10ms");
  EXPECT_EQ(slowed(link, 1), link);
}

TEST(Slowed, AFastLinkGetsTheBucketItNeedsUnlessOneWasGiven) {
  // 2.4 ms of 10 Mbit/s are 3 kB: too little for 1 Gbit/s.
  const LinkSpec fast = slowed(parse_link_spec("rate=10mbit"), 0.01);
  EXPECT_EQ(fast.down.rate, 1e9);
  EXPECT_EQ(fast.down.burst, default_burst(1e9));
  EXPECT_EQ(slowed(parse_link_spec("rate=10mbit,burst=16kb"), 0.01).down.burst, 16384U);
}

TEST(Slowed, WhatCannotBeSetIsRefused) {
  EXPECT_THROW(slowed(parse_link_spec("rate=100kbit"), 1000), InputError);
  EXPECT_THROW(slowed(parse_link_spec("rate=10gbit"), 0.01), InputError);
}

TEST(TimeScaleWarnings, NameWhatDoesNotSlowDown) {
  EXPECT_TRUE(time_scale_warnings(parse_link_spec("rate=100gbit"), 100).empty());
  EXPECT_TRUE(time_scale_warnings(parse_link_spec("rate=1gbit,delay=40ms,loss=1%"), 1).empty());
  const auto first = [](const char* link, double factor) {
    const auto warnings = time_scale_warnings(parse_link_spec(link), factor);
    return warnings.empty() ? std::string("none") : warnings.front();
  };
  EXPECT_NE(first("rate=1gbit,loss=1%", 10).find("counts as 20 ms"), std::string::npos);
  EXPECT_NE(first("rate=1gbit,delay=20ms", 10).find("400 ms, beyond the 200 ms"),
            std::string::npos);
  EXPECT_EQ(first("rate=1gbit,delay=20ms", 2), "none");
  EXPECT_NE(first("rate=1gbit", 0.1).find("100 us of a hop counts as 1 ms"), std::string::npos);
  EXPECT_EQ(time_scale_warnings(parse_link_spec("rate=10mbit"), 0.01).size(), 2U);  // its bucket
}

}  // namespace

}  // namespace thinpipe
