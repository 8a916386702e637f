#include "harness/scale/choice.h"

#include <gtest/gtest.h>

#include "netem/topology/spec.h"

namespace thinpipe {
namespace {

// TCP reaches 0.956 of a rate. Two ranks can receive 8 Gbit/s each; links may take a quarter of it.
constexpr Capacity kTwoCores = {.cores = 2, .ranks = 2, .threads = 1, .flow = 16e9};

TimeScaleChoice choose(const char* link, const Capacity& machine) {
  return choose_time_scale(parse_link_spec(link), machine);
}

TEST(ChooseTimeScale, IsOneWhereTheMachineKeepsUp) {
  const TimeScaleChoice choice = choose("rate=2gbit", kTwoCores);  // 1.91 of 2 Gbit/s
  EXPECT_EQ(choice.factor, 1);
  EXPECT_FALSE(choice.refused);
  EXPECT_NE(choice.why.find("16 Gbit/s"), std::string::npos) << choice.why;
}

TEST(ChooseTimeScale, FastLinksAreSlowedToAQuarterOfWhatTheMachineCarries) {
  EXPECT_EQ(choose("rate=4gbit", kTwoCores).factor, 2);              // 1.91
  EXPECT_EQ(choose("rate=25gbit", kTwoCores).factor, 20);            // 11.95
  const TimeScaleChoice choice = choose("rate=100gbit", kTwoCores);  // 47.8
  EXPECT_EQ(choice.factor, 50);
  EXPECT_NE(choice.why.find("100 Gbit/s"), std::string::npos) << choice.why;
}

TEST(ChooseTimeScale, MoreRanksThanCoresGetTheirShareOfOne) {
  Capacity machine = kTwoCores;
  machine.ranks = 4;
  EXPECT_EQ(choose("rate=10mbit", machine).factor, 2);
  machine.threads = 2;
  EXPECT_EQ(choose("rate=10mbit", machine).factor, 5);  // of 1, 2, 5: 4 or more
  EXPECT_NE(choose("rate=10mbit", machine).why.find("share 2 cores"), std::string::npos);
  machine.cores = 16;
  EXPECT_EQ(choose("rate=10mbit", machine).factor, 1);
}

TEST(ChooseTimeScale, RefusesWhereItWouldLie) {
  Capacity slow = kTwoCores;
  slow.flow = 4e8;
  EXPECT_TRUE(choose("rate=100gbit", slow).refused);  // 1912
  // TCP's timers do not slow down; where nothing must be slowed down they need not.
  const TimeScaleChoice lossy = choose("rate=25gbit,loss=1%", kTwoCores);
  EXPECT_TRUE(lossy.refused);
  EXPECT_NE(lossy.why.find("TCP's timers"), std::string::npos) << lossy.why;
  EXPECT_FALSE(choose("rate=1gbit,loss=1%", kTwoCores).refused);
  Capacity crowded = kTwoCores;
  crowded.ranks = 20;
  EXPECT_TRUE(choose("rate=5kbit", crowded).refused);
}

TEST(ChooseTimeScale, TheFastestLinkOfATopologyDecides) {
  const auto choose_of = [](const char* topology) {
    return choose_time_scale(parse_topology(topology).plan(2, parse_link_spec("rate=1gbit")),
                             kTwoCores);
  };
  EXPECT_EQ(choose_of("racks").factor, 1);
  EXPECT_EQ(choose_of("racks:uplink=(rate=25gbit)").factor, 20);
  EXPECT_EQ(choose_of("wan:sites=2,host1=(rate=4gbit)").factor, 2);
  // One link that must not be slowed down is enough.
  const TimeScaleChoice lossy = choose_of("racks:uplink=(rate=25gbit),host1=(loss=1%)");
  EXPECT_TRUE(lossy.refused);
  EXPECT_NE(lossy.why.find("but host1: "), std::string::npos) << lossy.why;
  const TimeScaleChoice slow = choose_of("racks:uplink=(rate=100gbit),host1=(rate=20kbit)");
  EXPECT_TRUE(slow.refused);
  EXPECT_NE(slow.why.find("host1 would be slower than 1 kbit/s"), std::string::npos) << slow.why;
}

TEST(ChooseTimeScale, FlowsShareTheCoresTwoToEach) {
  EXPECT_EQ(kTwoCores.per_rank(), 8e9);
  EXPECT_EQ((Capacity{.cores = 16, .ranks = 4, .threads = 1, .flow = 16e9}).per_rank(), 32e9);
  EXPECT_EQ((Capacity{.cores = 1, .ranks = 4, .threads = 1, .flow = 16e9}).per_rank(), 4e9);
}

TEST(ChooseTimeScale, ARankAloneNeedsNoNetwork) {
  EXPECT_EQ(choose("rate=100gbit", {.cores = 1, .ranks = 1, .threads = 1, .flow = 0}).factor, 1);
}

TEST(CeilingLink, IsTheSameLinkWithNothingThatSlowsItDown) {
  const LinkSpec fast =
      ceiling_link(parse_link_spec("rate=10mbit,delay=10ms,loss=1%,overhead=24,mtu=9000"));
  EXPECT_EQ(fast.rate(), 100e9);
  EXPECT_LE(fast.delay(), 1e-5);
  EXPECT_FALSE(fast.disturbs());
  EXPECT_TRUE(fast.needs_netem());  // it costs the time that it costs
  EXPECT_EQ(fast.down.overhead, 24U);
  EXPECT_EQ(fast.mtu, 9000U);
}

}  // namespace
}  // namespace thinpipe
