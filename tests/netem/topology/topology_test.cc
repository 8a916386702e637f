// Topologies: paths, flows on common links, changes of a link, and drawings.
#include "netem/topology/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <sstream>

#include "base/error.h"
#include "netem/topology/drawing.h"
#include "netem/topology/flows.h"
#include "netem/topology/spec.h"
#include "netem/topology/time_scale.h"
#include "tests/netem/helpers.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;

TEST(LinksNamed, AHostARangeAllHosts) {
  const Topology topology = planned("star", 4);
  EXPECT_EQ(topology.links_named("host0"), std::vector<int>{0});
  EXPECT_EQ(topology.links_named("host3"), std::vector<int>{3});
  EXPECT_EQ(topology.links_named("host1-2"), (std::vector<int>{1, 2}));
  EXPECT_EQ(topology.links_named("hosts"), (std::vector<int>{0, 1, 2, 3}));
}

TEST(LinksNamed, NoHostIsOutsideOfTheTopology) {
  const Topology topology = planned("star", 4);
  for (const char* name :
       {"host-1", "host-2", "host-4", "host-0", "host-2147483648", "host-4-2", "host-4--2",
        "host1--2", "host-", "host1-", "host+1", "host 1", "host4", "host2-4", "host2-1",
        "host99999999999999999999", "host0-99999999999999999999", "host1.", "host1-2-3"})
    EXPECT_THROW(topology.links_named(name), InputError) << name;
}

std::vector<Hop> reversed(std::vector<Hop> path) {
  std::reverse(path.begin(), path.end());
  for (Hop& hop : path) hop.up = !hop.up;
  return path;
}

TEST(Routes, CrossTheSpineOnlyBetweenRacks) {
  const Topology racks = planned("racks", 4);  // hosts 0 1 | 2 3; links 4, 5 are the uplinks
  const Routes routes(racks);
  EXPECT_EQ(routes.path(0, 1), (std::vector<Hop>{{0, true}, {1, false}}));
  EXPECT_EQ(routes.path(0, 3), (std::vector<Hop>{{0, true}, {4, true}, {5, false}, {3, false}}));
}

TEST(Routes, TakeTheDirectLinkBetweenSites) {
  const Topology wan = planned("wan:sites=3", 3);  // links 3: 0-1, 4: 0-2, 5: 1-2
  const Routes routes(wan);
  EXPECT_EQ(routes.path(2, 1), (std::vector<Hop>{{2, true}, {5, false}, {1, false}}));
}

TEST(Routes, OfEqualWaysAllSwitchesTakeTheSameBothWays) {
  // A ring of six: opposite switches have two paths of three trunks each.
  const Topology ring = planned(
      "switch a hosts=1; switch b hosts=1; switch c hosts=1; switch d hosts=1; switch e hosts=1; "
      "switch f hosts=1; link a b; link b c; link c d; link d e; link e f; link f a",
      6);
  const Routes routes(ring);
  for (int from = 0; from < 6; ++from)
    for (int to = 0; to < 6; ++to) {
      if (from == to) continue;
      EXPECT_EQ(routes.path(from, to), reversed(routes.path(to, from)));
      const int apart = std::min((from - to + 6) % 6, (to - from + 6) % 6);
      EXPECT_EQ(routes.path(from, to).size(), static_cast<std::size_t>(apart + 2));
    }
  // a to d: over the trunks 0, 1, 2 rather than 3, 4, 5.
  EXPECT_EQ(routes.path(0, 3)[1], (Hop{6, true}));
}

TEST(Flows, APathHasTheRateOfItsNarrowestLink) {
  const Topology wan = planned("wan:sites=2,hosts=(rate=50mbit),host3=(rate=20mbit)", 4);
  const Routes routes(wan);
  EXPECT_EQ(figures_of(wan, routes.path(0, 2)).rate, 50e6);
  EXPECT_EQ(figures_of(wan, routes.path(0, 3)).rate, 20e6);
  EXPECT_EQ(figures_of(wan, routes.path(0, 3)).narrowest, 3);
  EXPECT_DOUBLE_EQ(figures_of(wan, routes.path(0, 3)).goodput, 20e6 * 1448 / 1514);
  EXPECT_EQ(figures_of(planned("wan:sites=2", 4), routes.path(0, 1)).narrowest, -1);
}

TEST(Flows, AnAcknowledgementDisplacesPayload) {
  const auto displaced = [](const char* link) {
    const Topology star = planned("star", 2, link);
    return payload_of_ack(figures_of(star, Routes(star).path(0, 1)));
  };
  // 66 bytes, while a frame of 1514 carries 1448. Overhead is charged for both.
  EXPECT_DOUBLE_EQ(displaced("rate=100mbit"), 8.0 * 66 * 1448 / 1514);
  EXPECT_DOUBLE_EQ(displaced("rate=100mbit,overhead=24"), 8.0 * 90 * 1448 / 1538);
  // The bottleneck's overhead counts, here that of the receiver's link.
  const Topology star = planned("star:host1=(rate=10mbit,overhead=24)", 2);
  EXPECT_DOUBLE_EQ(payload_of_ack(figures_of(star, Routes(star).path(0, 1))),
                   8.0 * 90 * 1448 / 1538);
}

TEST(Flows, ShareTheLinkOnWhichTheyMeet) {
  // Four hosts with links of 100 Mbit/s share a rack's uplink of 100 Mbit/s. Four flows between the
  // racks get a quarter of the uplink each. A flow that stays in its rack gets the rest of host 0's
  // link.
  const Topology racks = planned("racks", 8);
  const Routes routes(racks);
  std::vector<std::vector<Hop>> flows;
  for (int i = 0; i < 4; ++i) flows.push_back(routes.path(i, i + 4));
  flows.push_back(routes.path(0, 1));
  const std::vector<double> rates = fair_rates(racks, flows);
  for (int i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(rates[static_cast<std::size_t>(i)], 25e6);
  EXPECT_DOUBLE_EQ(rates[4], 75e6);
}

TEST(Flows, AFairShareHasThePayloadOfItsFrames) {
  const Topology star = planned("star", 3, "rate=100mbit,mtu=9000");
  const Routes routes(star);
  EXPECT_DOUBLE_EQ(fair_goodputs(star, {routes.path(0, 1), routes.path(0, 2)})[1],
                   50e6 * 8948 / 9014);
  EXPECT_DOUBLE_EQ(exchange_goodput(star), 100e6 * 8948 / 9014);
  EXPECT_THAT(draw_as_text(star), HasSubstr("  99.3 Mbit/s    ring"));
}

// A path crosses a trunk once in each direction, so that its round trip over the trunk is twice the
// trunk's delay, and over two hosts' links likewise.
TEST(Flows, TheQueueOfATrunkHoldsARoundTripOfTheTrunk) {
  for (const char* topology :
       {"wan:sites=2", "wan:sites=2,site0-site1=(up.delay=150ms,delay=50ms)"}) {
    const Topology wan = planned(topology, 2, "rate=80mbit,delay=100ms");
    const LinkSpec trunk = links_as_set(wan).at(2);
    EXPECT_DOUBLE_EQ(trunk.round_trip(), 0.2) << topology;
    EXPECT_EQ(trunk.with_defaults().up.queue, 2'000'000U) << topology;
    EXPECT_EQ(trunk.with_defaults().down.queue, 2'000'000U) << topology;
    EXPECT_EQ(longest_round_trip(wan), 0.2) << topology;
    EXPECT_EQ(figures_of(wan, Routes(wan).path(0, 1)).queue, 2e6) << topology;
    EXPECT_EQ(links_as_set(slowed(wan, 4)).at(2).with_defaults().up.queue, 2'000'000U) << topology;
  }
  const Topology short_queue = planned("wan:sites=2", 2, "rate=80mbit,delay=100ms,queue=0.5bdp");
  EXPECT_EQ(links_as_set(short_queue).at(2).with_defaults().up.queue, 1'000'000U);
  EXPECT_EQ(links_as_set(planned("star", 2, "rate=80mbit,delay=100ms"))[0].with_defaults().up.queue,
            2'000'000U);
}

TEST(Flows, BothDirectionsAreLinksOfTheirOwn) {
  const Topology star = planned("star", 2);
  const Routes routes(star);
  EXPECT_EQ(fair_rates(star, {routes.path(0, 1), routes.path(1, 0)}),
            (std::vector<double>{100e6, 100e6}));
}

TEST(Flows, NothingHoldsBackAFlowOverUnthrottledLinks) {
  const Topology wan = planned("wan:sites=2", 4);
  const Routes routes(wan);
  EXPECT_EQ(fair_rates(wan, {routes.path(0, 1), routes.path(0, 2)}),
            (std::vector<double>{0, 100e6}));
}

std::string changed(const char* base, const char* change, const char* reference) {
  return LinkChange::parse(change)
      .applied_to(parse_link_spec(base), parse_link_spec(reference))
      .to_string();
}

TEST(LinkChange, LeavesWhatItDoesNotName) {
  EXPECT_EQ(changed("rate=100mbit,delay=5ms", "rate=10mbit", "rate=1gbit"),
            "rate=10mbit,delay=5ms");
  EXPECT_EQ(changed("rate=100mbit", "(delay=5ms)", "rate=1gbit"), "rate=100mbit,delay=5ms");
  EXPECT_EQ(changed("rate=100mbit,delay=5ms", "unthrottled", "rate=1gbit"), "unthrottled");
  EXPECT_EQ(changed("rate=100mbit,delay=5ms", "unthrottled,rate=7mbit", "rate=1gbit"),
            "rate=7mbit");
  EXPECT_EQ(LinkChange().applied_to(parse_link_spec("rate=1mbit"), {}).to_string(), "rate=1mbit");
}

TEST(LinkChange, ANameIsAWholeLink) {
  EXPECT_EQ(changed("rate=100mbit,loss=1%", "wan-100ms,rate=7mbit", "rate=1gbit"),
            parse_link_spec("wan-100ms,rate=7mbit").to_string());
}

TEST(LinkChange, ARateForBothDirectionsReplacesThoseOfEach) {
  EXPECT_EQ(changed("up.rate=1mbit,down.rate=8mbit", "rate=5mbit", "rate=1gbit"), "rate=5mbit");
  EXPECT_EQ(changed("rate=8mbit", "up.rate=1mbit", "rate=1gbit"), "up.rate=1mbit,down.rate=8mbit");
}

TEST(LinkChange, AKeyForOneDirectionOverridesInAnyOrder) {
  for (const char* change : {"rate=1mbit,down.rate=5mbit", "down.rate=5mbit,rate=1mbit"}) {
    EXPECT_EQ(changed("rate=100mbit", change, "rate=1gbit"), "up.rate=1mbit,down.rate=5mbit");
    // Canonical text has keys in alphabetical order, and means the same.
    const std::string text = LinkChange::parse(change).to_string();
    EXPECT_EQ(changed("rate=100mbit", text.c_str(), "rate=1gbit"), "up.rate=1mbit,down.rate=5mbit");
  }
}

TEST(LinkChange, MultiplesAreOfTheReference) {
  EXPECT_EQ(changed("rate=7mbit,delay=5ms", "rate=0.1x", "rate=100mbit"), "rate=10mbit,delay=5ms");
  EXPECT_EQ(changed("rate=7mbit", "rate=2x", "up.rate=1mbit,down.rate=8mbit"),
            "up.rate=2mbit,down.rate=16mbit");
  EXPECT_EQ(changed("rate=7mbit", "down.rate=2x", "rate=100mbit"),
            "up.rate=7mbit,down.rate=200mbit");
  EXPECT_THROW(changed("rate=7mbit", "rate=2x", "unthrottled"), InputError);
  EXPECT_THROW(changed("rate=7mbit", "rate=1000x", "rate=100gbit"), InputError);
}

TEST(LinkChange, TextIsCanonical) {
  EXPECT_EQ(LinkChange::parse("(delay=5ms,rate=1000kbit)").to_string(), "rate=1mbit,delay=5ms");
  EXPECT_EQ(LinkChange::parse("lte,rate=0.5x").to_string(), "lte,rate=0.5x");
}

TEST(LinkChange, ErrorsNameTheKey) {
  for (const char* text : {"", "()", "rat=1mbit", "rate=", "rate=x", "rate=-1x", "rate=nanx",
                           "rate=1mbit,rate=2mbit", "delay=5", "rate=1mbit|2mbit", "lt"})
    EXPECT_THROW(LinkChange::parse(text), InputError) << text;
}

std::size_t columns(const std::string& line) {
  return static_cast<std::size_t>(
      std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

TEST(TextDrawing, ShowsATreeFromItsSpine) {
  EXPECT_EQ(draw_as_text(planned("racks:host3=(rate=0.1x)", 4)), R"(racks:host3=(rate=0.1x)
4 hosts, 3 switches, 6 links

  spine
  ╠══ rack0      50mbit  oversubscribed 4:1
  ║   ├── host0  100mbit
  ║   └── host1  100mbit
  ╚══ rack1      50mbit  oversubscribed 2.2:1
      ├── host2  100mbit
      └── host3  10mbit

From one host to another, without other traffic
   pairs   TCP ceiling    round trip   bottleneck
       2   95.6 Mbit/s    -            access links
       4   47.8 Mbit/s    -            links between switches
       6   9.56 Mbit/s    -            host3

All hosts at once (max-min fair): TCP ceiling of the slowest flow
  9.56 Mbit/s    ring: each host to the next
  3.19 Mbit/s    all-to-all: each host to every other
)");
}

TEST(TextDrawing, ListsTheLinksOfAMesh) {
  const std::string text = draw_as_text(planned("wan:sites=3,site0-site2=(rate=1mbit)", 3));
  EXPECT_THAT(text, HasSubstr("  site1\n  └── host1  unthrottled\n"));
  EXPECT_THAT(text, HasSubstr("  site0 ═══ site2  1mbit\n"));
}

TEST(TextDrawing, FitsIn80Columns) {
  std::string file = "switch " + std::string(32, 'a') + " hosts=40; switch " +
                     std::string(32, 'b') + " hosts=1; link " + std::string(32, 'a') + " " +
                     std::string(32, 'b') +
                     " rate=123456789,burst=100kb,queue=1000kb; host3 rate=1mbit";
  const std::string slow_trunk = file + "; switch " + std::string(32, 'c') + " hosts=1; link " +
                                 std::string(32, 'a') + " " + std::string(32, 'c') + " rate=1kbit";
  for (const Topology& net :
       {planned(file, 41), planned(slow_trunk, 42), planned("racks:racks=4", 64),
        planned("star", 250),
        planned("star:host0=(rate=1mbit),host1=(rate=2mbit),host2=(rate=3mbit),host3=(rate=4mbit),"
                "host4=(rate=5mbit)",
                5)}) {
    std::istringstream lines(draw_as_text(net));
    for (std::string line; std::getline(lines, line);) {
      EXPECT_LE(columns(line), 80U) << line;
      EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
    }
  }
}

TEST(TextDrawing, JoinsNeighboursThatAreAlike) {
  const std::string text = draw_as_text(planned("ps:host0=(rate=1mbit)", 20));
  EXPECT_THAT(text, HasSubstr("├── host0            1mbit\n"));
  EXPECT_THAT(text, HasSubstr("├── host1 … host18   18 × 100mbit\n"));
  EXPECT_THAT(text, HasSubstr("└── host19 (server)  100mbit\n"));
}

TEST(SvgDrawing, HasEveryHostSwitchAndLinkOnce) {
  const Topology net = planned("wan:sites=4,host3=(rate=10mbit)", 8);
  const std::string svg = draw_as_svg(net);
  const auto count = [&](const std::string& what) {
    std::size_t found = 0;
    for (std::size_t at = svg.find(what); at != std::string::npos; at = svg.find(what, at + 1))
      ++found;
    return found;
  };
  for (int i = 0; i < 8; ++i) EXPECT_EQ(count(">host" + std::to_string(i) + "</text>"), 1U);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(count(">site" + std::to_string(i) + "</text>"), 1U);
  EXPECT_EQ(count("<line "), 14U + 3U);  // 8 + 6, and one in the legend for each setting
  EXPECT_EQ(count("<title>site1-site3: 100mbit</title>"), 1U);
}

TEST(SvgDrawing, NothingStandsOnAnother) {
  for (const Topology& net : {planned("star", 30), planned("racks:racks=5", 23),
                              planned("wan:sites=7", 9), planned("racks", 2)}) {
    const Layout layout = lay_out(net);
    std::vector<Spot> spots = layout.hosts;
    spots.insert(spots.end(), layout.switches.begin(), layout.switches.end());
    for (std::size_t i = 0; i < spots.size(); ++i)
      for (std::size_t j = 0; j < i; ++j)
        EXPECT_TRUE(std::fabs(spots[i].x - spots[j].x) > 62 ||
                    std::fabs(spots[i].y - spots[j].y) > 24)
            << net.text << " " << i << " and " << j;
  }
}

}  // namespace

}  // namespace thinpipe
