// Topologies as text, and under time dilation.
#include "netem/topology/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <tuple>

#include "base/error.h"
#include "netem/topology/flows.h"
#include "netem/topology/time_scale.h"
#include "tests/base/support.h"
#include "tests/netem/helpers.h"

namespace thinpipe {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string spec_error(const std::string& text) {
  return input_error([&] { parse_topology(text); });
}

double rate(const LinkSpec& link) {
  return parse_link_spec(link.to_string()) == link ? rate_of(link, true) : -1;
}

TEST(TopologySpec, CanonicalTextReadsBackAsItself) {
  for (const char* text :
       {"star", "racks", "racks:oversubscription=2.5,placement=spread,racks=3",
        "racks:uplink=(rate=1gbit)", "wan:sites=4,hosts=(rate=10gbit),site0-site2=(rate=0.1x)",
        "ps:servers=2,server=(rate=4x)", "star:host0=(rate=10mbit),host2-3=(unthrottled)",
        "switch a hosts=2; switch b; switch c hosts=1; link a b; link b c rate=1mbit; hosts "
        "rate=1gbit; host1 rate=5mbit"}) {
    const std::string once = parse_topology(text).to_string();
    EXPECT_EQ(parse_topology(once).to_string(), once);
  }
  // One meaning, one text: order of settings, parentheses and units do not matter.
  EXPECT_EQ(parse_topology("wan:site0-site1=rate=1000kbit,sites=3").to_string(),
            parse_topology("wan:sites=3,site0-site1=(rate=1mbit)").to_string());
  EXPECT_TRUE(parse_topology("star").is_star());
  EXPECT_FALSE(parse_topology("star:host0=(rate=1mbit)").is_star());
}

TEST(TopologySpec, ErrorsSayWhatAndWhere) {
  const std::pair<const char*, const char*> cases[] = {
      {"stra", "did you mean 'star'?"},
      {"", "neither a file nor one of star, racks, wan, ps"},
      {"racks:rcks=2", "unknown setting 'rcks'"},
      {"racks:racks=1", "racks=1: expected a whole number from 2 to 64"},
      {"racks:racks=2.5", "a whole number"},
      {"racks:racks=", "expected key=value"},
      {"racks:placement=left", "placement=left: expected block or spread"},
      {"racks:oversubscription=2,uplink=(rate=1gbit)", "give one of them"},
      {"wan:sites=3,sites=4", "sites is given twice"},
      {"wan:rack0=(rate=1mbit)", "unknown setting 'rack0'"},
      {"star:host3=(rat=1mbit)", "did you mean 'rate'?"},
      {"star:host3=(rate=0x)", "neither a rate"},
      {"star:host3=(rate=1x", "parentheses do not match"},
      {"star:host3=((rate=1mbit))", "parentheses do not match"},
      {"star:host3=()", "found nothing"},
      {"star:host3=(rate=1mbit|2mbit)", "a topology has one value"},
      {"switch", "neither a file"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_THAT(spec_error(text), HasSubstr(message)) << text;
}

TEST(TopologySpec, ErrorsOfAPlanNameTheTopology) {
  for (const auto& [text, hosts, message] :
       {std::tuple{"wan:sites=5", 4, "'wan:sites=5': 4 hosts are too few for 5 sites"},
        std::tuple{"ps:servers=2", 2, "leave no host for a worker"},
        std::tuple{"star:host9=(rate=1mbit)", 4, "host0 to host3"},
        std::tuple{"wan:site0-site9=(rate=1mbit)", 4, "site0-site1"},
        std::tuple{"switch a hosts=2; switch b hosts=1", 3, "b and a are not connected"},
        std::tuple{"switch a hosts=2", 4, "use --ranks 2"}, std::tuple{"star", 0, "at least one"}})
    EXPECT_THAT(input_error([spec = parse_topology(text), count = hosts] {
                  spec.plan(count, parse_link_spec("rate=1mbit"));
                }),
                HasSubstr(message));
}

TEST(TopologySpec, StarGivesEveryHostTheLink) {
  const Topology star = planned("star:host1=(rate=0.1x)", 3);
  EXPECT_EQ(star.switches.size(), 1U);
  EXPECT_EQ(star.links(), 3);
  EXPECT_EQ(rate(star.link(0)), 100e6);
  EXPECT_EQ(rate(star.link(1)), 10e6);
}

TEST(TopologySpec, ExceptionsKeepWhatTheyDoNotName) {
  const Topology star =
      planned("star:host1=(rate=5mbit),host2=(queue=300kb)", 3, "rate=100mbit,queue=256kb");
  EXPECT_EQ(star.link(1), parse_link_spec("rate=5mbit,queue=256kb"));
  EXPECT_EQ(star.link(2), parse_link_spec("rate=100mbit,queue=300kb"));
}

TEST(TopologySpec, RacksAreFilledOneAfterTheOtherOrDealt) {
  const auto racks_of_hosts = [](const char* text) {
    std::vector<int> racks;
    for (const TopologyHost& host : planned(text, 5).hosts) racks.push_back(host.at);
    return racks;
  };
  EXPECT_EQ(racks_of_hosts("racks:racks=2"), (std::vector<int>{0, 0, 0, 1, 1}));
  EXPECT_EQ(racks_of_hosts("racks:racks=2,placement=spread"), (std::vector<int>{0, 1, 0, 1, 0}));
}

TEST(TopologySpec, OversubscriptionIsHostsOverUplink) {
  // 4 hosts of 100 Mbit/s over 4 are 100 Mbit/s; over 0.5, 800.
  EXPECT_EQ(rate(planned("racks", 8).trunks[0].link), 100e6);
  EXPECT_EQ(rate(planned("racks:oversubscription=0.5", 8).trunks[1].link), 800e6);
  // hosts= counts, not --link.
  EXPECT_EQ(rate(planned("racks:hosts=(rate=1gbit)", 8).trunks[0].link), 1e9);
  EXPECT_EQ(rate(planned("racks:uplink=(rate=2x),rack1=(rate=1x)", 8).trunks[0].link), 200e6);
  EXPECT_EQ(rate(planned("racks:uplink=(rate=2x),rack1=(rate=1x)", 8).trunks[1].link), 100e6);
}

TEST(TopologySpec, WanJoinsEveryTwoSites) {
  const Topology wan = planned("wan:sites=4,site1-site3=(rate=7mbit)", 8);
  EXPECT_EQ(wan.trunks.size(), 6U);
  for (int i = 8; i < wan.links(); ++i)
    EXPECT_EQ(rate(wan.link(i)), wan.link_name(i) == "site1-site3" ? 7e6 : 100e6);
  for (const TopologyHost& host : wan.hosts) EXPECT_FALSE(host.link.throttled());
}

TEST(TopologySpec, ServersAreTheLastHosts) {
  const Topology ps = planned("ps:servers=2,server=(rate=4x)", 5);
  EXPECT_EQ(ps.hosts[2].role, "");
  EXPECT_EQ(ps.hosts[3].role, "server");
  EXPECT_EQ(rate(ps.link(2)), 100e6);
  EXPECT_EQ(rate(ps.link(3)), 400e6);
  EXPECT_EQ(parse_topology("ps:servers=2").servers(), 2);
  EXPECT_EQ(parse_topology("ps").servers(), 1);
  EXPECT_EQ(parse_topology("star").servers(), 0);
}

TEST(TopologyFile, SaysFileLineAndStatement) {
  const TemporaryFolder folder;
  const std::string path = folder / "bad.topo";
  std::ofstream(path) << "# two\nswitch a hosts=1\nswitch b hosts=1\n\nlink a c rate=1mbit\n";
  EXPECT_EQ(spec_error(path), path + ":5: link: no switch 'c' before this line");
  const std::pair<const char*, const char*> cases[] = {
      {"switch a-b hosts=1", "a name has letters, digits, _ and ."},
      {"switch a hosts=x", "expected hosts=N"},
      {"switch a hosts=-1", "expected hosts=N"},
      {"switch a hosts=1001", "from 0 to 1000"},
      {"switch a hosts=1; switch a", "'a' is defined already"},
      {"switch a", "no switch has hosts"},
      {"switch a hosts=1; link a a", "joins a switch to itself"},
      {"switch a hosts=1; switch b; link a b; link b a", "joined already"},
      {"switch a hosts=1; host 0 rate=1mbit", "unknown statement"},
      {"switch a hosts=1; hosts rate=1mbit; hosts rate=1mbit", "given twice"},
      {"switch a hosts=1; host0", "expected a link"},
      {"switch a hosts=1; host0 rat=1mbit", "host0: link 'rat=1mbit"},
      {"switch a hosts=1; swich b", "did you mean 'switch'?"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_THAT(spec_error(text), HasSubstr(message)) << text;
  EXPECT_THAT(spec_error(folder.path()), HasSubstr("a folder"));
}

TEST(TopologyFile, PlacesItsHosts) {
  const TemporaryFolder folder;
  const std::string path = folder / "good.topo";
  std::ofstream(path) << "switch a hosts=2  # a comment\n"
                         "switch b\nswitch c hosts=1\n"
                         "link a b\nlink b c rate=0.5x\nhosts rate=1gbit\nhost2 rate=3mbit\n";
  const TopologySpec spec = parse_topology(path);
  EXPECT_EQ(spec.fixed_hosts(), 3);
  const Topology net = spec.plan(3, parse_link_spec("rate=100mbit"));
  EXPECT_EQ(net.hosts[2].at, 2);
  EXPECT_EQ(rate(net.link(1)), 1e9);
  EXPECT_EQ(rate(net.link(2)), 3e6);
  EXPECT_EQ(rate(net.trunks[0].link), 100e6);
  EXPECT_EQ(rate(net.trunks[1].link), 50e6);
}

TEST(Slowed, RatesAreDividedAndDelaysMultipliedAndBytesStay) {
  const LinkSpec link =
      parse_link_spec("rate=1gbit,delay=10ms,jitter=1ms,loss=1%,up.rate=400mbit,queue=1mb");
  const LinkSpec slow = slowed(link, 4);
  EXPECT_EQ(slow.down.rate, 250e6);
  EXPECT_EQ(slow.up.rate, 100e6);
  EXPECT_EQ(slow.delay(), 4 * link.delay());
  EXPECT_EQ(slow.down.impairment.delay, milliseconds(40));
  EXPECT_EQ(slow.down.impairment.jitter, milliseconds(4));
  EXPECT_EQ(slow.down.impairment.loss.percent, 1);
  EXPECT_EQ(slow.down.queue, link.down.queue);
  // The bucket depends on the link's own rate: it holds 1 ms at 1 Gbit/s, which is 4 ms at the
  // slower rate that is set.
  EXPECT_EQ(slow.down.burst, default_burst(1e9));
  EXPECT_EQ(slow.mtu, link.mtu);
  // No delay and no jitter becomes longer than netem can keep.
  EXPECT_THAT(input_error([&] { slowed(link, 3000); }),
              HasSubstr("time scale 3000: a jitter of 1 ms becomes 3 s (allowed: at most 2 s)"));
  EXPECT_THAT(input_error([] { slowed(parse_link_spec("rate=1gbit,delay=1s"), 200); }),
              HasSubstr("a delay of 1 s becomes 200 s (allowed: at most 100 s)"));
}

TEST(Slowed, EveryLinkOfATopologyIs) {
  const Topology own =
      planned("racks:uplink=(rate=1gbit,delay=5ms),host1=(rate=40mbit)", 2, "rate=200mbit");
  const Topology slow = slowed(own, 4);
  EXPECT_EQ(slow.link(0).down.rate, 50e6);
  EXPECT_EQ(slow.link(1).up.rate, 10e6);
  for (const int trunk : {2, 3}) {
    EXPECT_EQ(slow.link(trunk).up.rate, 250e6);
    // A trunk has its delay in both directions.
    EXPECT_EQ(slow.link(trunk).up.impairment.delay, milliseconds(20));
    EXPECT_EQ(slow.link(trunk).down.impairment.delay, milliseconds(20));
    EXPECT_EQ(slow.link(trunk).down.queue, links_as_set(own)[2].with_defaults().down.queue);
  }
  EXPECT_EQ(longest_round_trip(slow), 4 * longest_round_trip(own));
  EXPECT_EQ(links_as_set(slowed(own, 1)), links_as_set(own));
  EXPECT_THAT(input_error([&] { slowed(own, 1e-3); }), HasSubstr("host0: time scale 0.001"));
}

TEST(Slowed, LinksWithoutARateAreWarnedOf) {
  const Topology wan = planned("wan:sites=2", 2, "rate=10mbit");
  EXPECT_THAT(time_scale_warnings(wan, 2), ElementsAre(HasSubstr("they count as 2 times as fast")));
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
  EXPECT_THAT(first("rate=1gbit,loss=1%", 10), HasSubstr("counts as 20 ms"));
  EXPECT_THAT(first("rate=1gbit,delay=20ms", 10), HasSubstr("400 ms, beyond the 200 ms"));
  EXPECT_EQ(first("rate=1gbit,delay=20ms", 2), "none");
  EXPECT_THAT(first("rate=1gbit", 0.1), HasSubstr("100 us of a hop counts as 1 ms"));
  EXPECT_EQ(time_scale_warnings(parse_link_spec("rate=10mbit"), 0.01).size(), 2U);  // its bucket
}

}  // namespace

}  // namespace thinpipe
