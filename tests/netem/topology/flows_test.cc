#include "netem/topology/flows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

#include "netem/topology/spec.h"

namespace thinpipe {
namespace {

Topology route_plan(const char* text, int hosts) {
  return parse_topology(text).plan(hosts, parse_link_spec("rate=100mbit"));
}

std::vector<Hop> reversed(std::vector<Hop> path) {
  std::reverse(path.begin(), path.end());
  for (Hop& hop : path) hop.up = !hop.up;
  return path;
}

TEST(Routes, CrossTheSpineOnlyBetweenRacks) {
  const Topology racks = route_plan("racks", 4);  // hosts 0 1 | 2 3; links 4, 5 are the uplinks
  const Routes routes(racks);
  EXPECT_EQ(routes.path(0, 1), (std::vector<Hop>{{0, true}, {1, false}}));
  EXPECT_EQ(routes.path(0, 3), (std::vector<Hop>{{0, true}, {4, true}, {5, false}, {3, false}}));
}

TEST(Routes, TakeTheDirectLinkBetweenSites) {
  const Topology wan = route_plan("wan:sites=3", 3);  // links 3: 0-1, 4: 0-2, 5: 1-2
  const Routes routes(wan);
  EXPECT_EQ(routes.path(2, 1), (std::vector<Hop>{{2, true}, {5, false}, {1, false}}));
}

TEST(Routes, OfEqualWaysAllSwitchesTakeTheSameBothWays) {
  // A ring of six: opposite switches have two ways of three trunks each.
  const Topology ring = route_plan(
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

Topology flow_plan(const char* text, int hosts, const char* link = "rate=100mbit") {
  return parse_topology(text).plan(hosts, parse_link_spec(link));
}

TEST(Flows, APathHasTheRateOfItsNarrowestLink) {
  const Topology wan = flow_plan("wan:sites=2,hosts=(rate=50mbit),host3=(rate=20mbit)", 4);
  const Routes routes(wan);
  EXPECT_EQ(figures_of(wan, routes.path(0, 2)).rate, 50e6);
  EXPECT_EQ(figures_of(wan, routes.path(0, 3)).rate, 20e6);
  EXPECT_EQ(figures_of(wan, routes.path(0, 3)).narrowest, 3);
  EXPECT_DOUBLE_EQ(figures_of(wan, routes.path(0, 3)).goodput, 20e6 * 1448 / 1514);
  EXPECT_EQ(figures_of(flow_plan("wan:sites=2", 4), routes.path(0, 1)).narrowest, -1);
}

TEST(Flows, ShareTheLinkOnWhichTheyMeet) {
  // Uplinks of 100 Mbit/s under four hosts of 100: four flows across get a quarter each, one that
  // stays in its rack gets what host 0's link has left.
  const Topology racks = flow_plan("racks", 8);
  const Routes routes(racks);
  std::vector<std::vector<Hop>> flows;
  for (int i = 0; i < 4; ++i) flows.push_back(routes.path(i, i + 4));
  flows.push_back(routes.path(0, 1));
  const std::vector<double> rates = fair_rates(racks, flows);
  for (int i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(rates[static_cast<std::size_t>(i)], 25e6);
  EXPECT_DOUBLE_EQ(rates[4], 75e6);
}

TEST(Flows, BothDirectionsAreLinksOfTheirOwn) {
  const Topology star = flow_plan("star", 2);
  const Routes routes(star);
  EXPECT_EQ(fair_rates(star, {routes.path(0, 1), routes.path(1, 0)}),
            (std::vector<double>{100e6, 100e6}));
}

TEST(Flows, NothingHoldsBackAFlowOverUnthrottledLinks) {
  const Topology wan = flow_plan("wan:sites=2", 4);
  const Routes routes(wan);
  EXPECT_EQ(fair_rates(wan, {routes.path(0, 1), routes.path(0, 2)}),
            (std::vector<double>{0, 100e6}));
}

}  // namespace

}  // namespace thinpipe
