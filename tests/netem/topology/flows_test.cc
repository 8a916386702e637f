#include "netem/topology/flows.h"

#include <gtest/gtest.h>

#include "netem/topology/spec.h"

namespace thinpipe {
namespace {

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
