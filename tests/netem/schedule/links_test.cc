// Schedules of a topology's links, and curves of rates over time.
#include "netem/schedule/links.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "netem/schedule/part.h"
#include "netem/topology/time_scale.h"
#include "tests/base/support.h"
#include "tests/netem/helpers.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;

std::vector<ScheduledLink> links(const char* topology, int hosts, const char* link,
                                 const std::string& schedule) {
  return scheduled_links(planned(topology, hosts, link), parse_schedule(schedule));
}

// "host0 10 5": names, and the rates up at 0 and 15 s in Mbit/s; "host0 10/10 10/5" with `both`.
std::string rates(const char* topology, int hosts, const std::string& schedule, bool both = false) {
  const Topology net = planned(topology, hosts, "rate=10mbit");
  std::string text;
  for (const ScheduledLink& one : scheduled_links(net, parse_schedule(schedule))) {
    text += (text.empty() ? "" : ", ") + net.link_name(one.link);
    for (const double t : {0.0, 15.0})
      text += fmt::format(" {}", one.up.at(t).rate / 1e6) +
              (both ? fmt::format("/{}", one.down.at(t).rate / 1e6) : "");
  }
  return text;
}

TEST(ScheduledLinks, WithoutANameAllThatHaveARate) {
  EXPECT_EQ(rates("star", 2, "steps:0s=100%,10s=50%"), "host0 10 5, host1 10 5");
  // The hosts of a datacentre are not throttled; links between sites are.
  EXPECT_EQ(rates("wan:sites=3", 3, "steps:0s=100%,10s=50%"),
            "site0-site1 10 5, site0-site2 10 5, site1-site2 10 5");
  EXPECT_EQ(rates("racks", 2, "steps:0s=100%,10s=50%"),
            "host0 10 5, host1 10 5, rack0-spine 2.5 1.25, rack1-spine 2.5 1.25");
  EXPECT_EQ(rates("star", 2, "none"), "");
  // Nor is a host that is given a rate by its name for the rest like all.
  EXPECT_EQ(rates("wan:sites=2", 2,
                  "steps:0s=100%,10s=50%;outage:first=14s,lasts=2s;host0:steps:0s=5mbit"),
            "host0 5 5, site0-site1 10 0");
}

TEST(ScheduledLinks, ByNameOnlyThose) {
  const char* topology = "racks:uplink=(rate=30mbit)";
  EXPECT_EQ(rates(topology, 4, "host3: steps:0s=100%,10s=50%"), "host3 10 5");
  EXPECT_EQ(rates(topology, 4, "host1-2:steps:0s=100%,10s=50%"), "host1 10 5, host2 10 5");
  EXPECT_EQ(rates(topology, 4, "rack1:steps:0s=100%,10s=50%"), "rack1-spine 30 15");
  EXPECT_EQ(rates(topology, 4, "rack0-spine:steps:0s=100%,10s=50%"), "rack0-spine 30 15");
  EXPECT_EQ(rates(topology, 2, "trunks:steps:0s=100%,10s=50%"),
            "rack0-spine 30 15, rack1-spine 30 15");
  EXPECT_EQ(rates(topology, 2, "hosts:steps:0s=100%,10s=50%"), "host0 10 5, host1 10 5");
}

TEST(ScheduledLinks, WhatIsNamedReplacesWhatIsNotQuantityByQuantity) {
  // host1 has its own rate and all's outage; host2 all's rate and an outage of its own.
  const std::string schedule =
      "steps:0s=100%,10s=50%;host1:steps:0s=20%;outage:first=14s,lasts=2s;host2:outage:first=20s,"
      "lasts=1s";
  EXPECT_EQ(rates("star", 3, schedule), "host0 10 0, host1 2 0, host2 10 5");
  // The order does not matter between all and one; of two names the later counts.
  EXPECT_EQ(rates("star", 3, "host1:steps:0s=20%;steps:0s=50%"), "host0 5 5, host1 2 2, host2 5 5");
  EXPECT_EQ(rates("star", 3, "host1:steps:0s=20%;hosts:steps:0s=50%"),
            "host0 5 5, host1 5 5, host2 5 5");
}

TEST(ScheduledLinks, DelayIsOnTheWayDownOfAHostAndBothWaysOfATrunk) {
  const auto found =
      links("racks", 2, "rate=10mbit", "host0:steps:of=delay,0s=5ms;rack1:steps:of=delay,0s=7ms");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].up.at(0).delay, 0);
  EXPECT_DOUBLE_EQ(found[0].down.at(0).delay, 0.005);
  EXPECT_DOUBLE_EQ(found[1].up.at(0).delay, 0.007);
  EXPECT_DOUBLE_EQ(found[1].down.at(0).delay, 0.007);
  EXPECT_TRUE(found[0].changes_impairment);
  EXPECT_FALSE(links("star", 1, "rate=10mbit", "steps:0s=50%").at(0).changes_impairment);
}

// A fraction of 1/11 of the frames is in the bad state, in which all are lost.
TEST(ScheduledLinks, KeepTheMeanOfALossInBursts) {
  const auto found = links("star", 1, "rate=10mbit,loss=ge:1%/10%", "steps:0s=50%");
  EXPECT_NEAR(found.at(0).down.at(0).loss, 1.0 / 11, 1e-12);
}

TEST(ScheduledLinks, TheirTextIsCanonical) {
  const ScheduleSpec spec = parse_schedule(
      "host3: sine:low=20%,high=100%,period=10s;steps:0s=100%;rack0:outage:first=1s,lasts=1s");
  EXPECT_EQ(spec.to_string(),
            "host3:sine:low=20%,high=100%,period=10s;steps:0s=100%;rack0:outage:first=1s,lasts=1s");
  EXPECT_EQ(parse_schedule(spec.to_string()).to_string(), spec.to_string());
  EXPECT_TRUE(spec.changes(Quantity::kRate));
  EXPECT_FALSE(spec.changes(Quantity::kLoss));
  EXPECT_TRUE(parse_schedule("host1:steps:of=loss,0s=1%").changes(Quantity::kLoss));
  EXPECT_FALSE(parse_schedule("host1:steps:0s=50%").empty());
}

TEST(ScheduledLinks, OneDirectionByName) {
  const auto two_ways = [](const char* topology, const char* schedule) {
    return rates(topology, 2, schedule, true);
  };
  EXPECT_EQ(two_ways("star", "host1.down:steps:0s=100%,10s=50%"), "host1 10/10 10/5");
  EXPECT_EQ(two_ways("star", "up:steps:0s=20%;down:steps:0s=100%,10s=50%"),
            "host0 2/10 2/5, host1 2/10 2/5");
  // The other direction has the settings of all, and of two names the later counts.
  EXPECT_EQ(two_ways("star", "steps:0s=100%,10s=50%;host1.up:steps:0s=20%"),
            "host0 10/10 5/5, host1 2/10 2/5");
  EXPECT_EQ(two_ways("star", "host1:steps:0s=20%;host1.up:steps:0s=30%"), "host1 3/2 3/2");
  EXPECT_EQ(two_ways("racks:uplink=(rate=30mbit)", "rack0.up:steps:0s=50%"),
            "rack0-spine 15/30 15/30");
  // "up" is of links that have a rate.
  EXPECT_EQ(two_ways("wan:sites=2", "up:steps:0s=50%"), "site0-site1 5/10 5/10");
  const auto trunk = links("racks", 2, "rate=10mbit", "rack1.up:steps:of=delay,0s=7ms");
  ASSERT_EQ(trunk.size(), 1U);
  EXPECT_DOUBLE_EQ(trunk[0].up.at(0).delay, 0.007);
  EXPECT_EQ(trunk[0].down.at(0).delay, 0);
  EXPECT_TRUE(trunk[0].changes_impairment);
}

TEST(ScheduledLinks, SayWhatTheKernelMustHave) {
  const auto needs = [](const char* schedule) {
    std::string text;
    for (const LinkSpec& one : links_as_played(links("star", 3, "rate=10mbit", schedule)))
      text += fmt::format("htb {} netem {};", one.needs_htb(), one.needs_netem());
    return text;
  };
  EXPECT_EQ(needs("none"), "");
  EXPECT_EQ(needs("steps:0s=50%"), "htb true netem false;");
  EXPECT_EQ(needs("steps:of=delay,0s=5ms"), "htb true netem true;");
  EXPECT_EQ(needs("steps:0s=50%;host1:steps:of=loss,0s=1%"),
            "htb true netem false;htb true netem true;");
}

// Rates a tenth, moments ten times as late, also of a link with a name.
TEST(ScheduledLinks, PlayUnderTimeDilation) {
  const ScheduleSpec spec = parse_schedule("host1:steps:0s=100%,2s=5mbit").slowed(10);
  const auto found = scheduled_links(planned("star", 2, "rate=1mbit"), spec);
  ASSERT_EQ(found.size(), 1U);
  EXPECT_NEAR(found[0].up.at(19.9).rate, 1e6, 1e-3);
  EXPECT_NEAR(found[0].up.at(20.1).rate, 0.5e6, 1e-3);
}

// A third of 100 Gbit/s is no whole number of bytes/s, nor is 1 kbit/s over 0.6.
TEST(ScheduledLinks, TakeTheFastestAndTheSlowestLinkUnderTimeDilation) {
  for (const auto& [link, factor] :
       {std::pair{"rate=100gbit", 3.0}, std::pair{"rate=1kbit", 0.6}}) {
    const Topology plan = slowed(planned("star", 1, link), factor);
    EXPECT_EQ(scheduled_links(plan, parse_schedule("steps:0s=100%").slowed(factor)).size(), 1U);
  }
}

std::string refusal(const char* topology, int hosts, const char* link, const char* schedule) {
  return input_error([&] { links(topology, hosts, link, schedule); });
}

TEST(ScheduledLinks, RefusesWhatDoesNotFit) {
  EXPECT_EQ(
      refusal("star", 2, "rate=10mbit", "host2:steps:0s=50%"),
      "schedule 'host2:steps:0s=50%' on topology 'star': host2: the hosts are host0 to host1");
  EXPECT_EQ(refusal("racks", 2, "rate=10mbit", "rack7:steps:0s=50%"),
            "schedule 'rack7:steps:0s=50%' on topology 'racks': no link 'rack7' (links: host0 to "
            "host1, rack0-spine, rack1-spine)");
  EXPECT_EQ(refusal("star", 2, "rate=10mbit", "host0.up:steps:of=delay,0s=5ms"),
            "schedule 'host0.up:steps:of=delay,0s=5ms' on topology 'star': host0.up: the delay and "
            "the loss of a host's link are on its downlink");
  EXPECT_EQ(refusal("star", 2, "delay=10ms", "up:steps:0s=50%"),
            "schedule 'up:steps:0s=50%' on topology 'star': no link has a rate to schedule, such "
            "as rate=100mbit");
  EXPECT_EQ(refusal("star", 2, "delay=10ms", "steps:0s=50%"),
            "schedule 'steps:0s=50%': no link has a rate to schedule, such as rate=100mbit");
  EXPECT_EQ(refusal("wan:sites=2", 2, "rate=10mbit", "host0:steps:0s=50%"),
            "host0 (unthrottled): schedule 'host0:steps:0s=50%': a direction of the link has no "
            "rate of its own, and a scheduled link needs one in both; give the link up.rate= and "
            "down.rate=, or schedule a rate such as 10mbit instead of a percentage");
  // Nor is a link with a rate in one direction.
  for (const char* schedule : {"steps:0s=50%", "up:steps:0s=50%", "outage:every=2s,lasts=1s"})
    EXPECT_THAT(refusal("star", 1, "up.rate=10mbit", schedule),
                HasSubstr("a direction of the link has no rate of its own"));
  EXPECT_EQ(refusal("star", 1, "up.rate=10mbit,down.rate=1gbit", "up:steps:0s=50%"), "");
  EXPECT_EQ(refusal("star", 1, "up.rate=10mbit", "steps:0s=5mbit"), "");
  // But a rate of its own it can be given.
  EXPECT_EQ(refusal("wan:sites=2", 2, "rate=10mbit", "host0:steps:0s=5mbit"), "");
  EXPECT_EQ(
      refusal("star", 1, "rate=10mbit,loss=ge:1%/10%", "host0:steps:of=loss,0s=5%"),
      "host0 (rate=10mbit,loss=ge:1%/10%/100%/0%): a loss in bursts cannot be scheduled, nor a "
      "delay beside it");
  // Every change of netem's settings would end a burst.
  EXPECT_THAT(refusal("star", 1, "rate=10mbit,delay=5ms,loss=ge:1%/10%", "steps:of=delay,0s=50%"),
              HasSubstr("nor a delay beside it"));
}

TEST(ScheduledLinks, RefusesNamesThatAreNone) {
  for (const auto& [text, complaint] :
       {std::pair{"no host:steps:0s=1mbit", "'no host' is not a link name"},
        std::pair{":steps:0s=1mbit", "'' is not a link name"},
        std::pair{"host1:stesp:0s=1mbit", "'host1' is neither a kind of schedule"},
        std::pair{"host1:steps:0s=1mbit;host1:steps:0s=2mbit",
                  "schedule of host1 'steps:0s=2mbit': the rate is scheduled already"}})
    EXPECT_THAT(input_error([given = text] { parse_schedule(given); }), HasSubstr(complaint));
}

// Integrates a curve by the midpoint rule with many steps. The code is obviously right, and is
// accurate to about 1e-6 of the sum if the curve jumps rarely.
double summed(const ScheduleCurve& curve, double from, double to) {
  constexpr int kSteps = 400000;
  const double width = (to - from) / kSteps;
  double sum = 0;
  for (int i = 0; i < kSteps; ++i) sum += curve.at(from + (i + 0.5) * width) * width;
  return sum;
}

TEST(TableCurve, StepsHoldUntilTheNext) {
  const CurvePtr curve = table_curve({{0, 100}, {5, 20}, {6, 50}}, false);
  EXPECT_EQ(curve->at(0), 100);
  EXPECT_EQ(curve->at(4.999), 100);
  EXPECT_EQ(curve->at(5), 20);  // the value from then on
  EXPECT_EQ(curve->at(1e6), 50);
  EXPECT_EQ(curve->integral(0, 10), 5 * 100 + 20 + 4 * 50);
  EXPECT_EQ(curve->integral(4, 5.5), 110);
  EXPECT_EQ(curve->next_corner(0), 5);
  EXPECT_EQ(curve->next_corner(5), 6);
  EXPECT_EQ(curve->next_corner(6), kNever);
  EXPECT_TRUE(curve->steady_after(2));
  EXPECT_EQ(curve->least(), 20);
  EXPECT_EQ(curve->most(), 100);
}

TEST(TableCurve, RepeatsFromItsPeriodOn) {
  const CurvePtr curve = table_curve({{0, 100}, {1, 0}}, false, 3);
  EXPECT_EQ(curve->at(3), 100);
  EXPECT_EQ(curve->at(4), 0);
  EXPECT_EQ(curve->integral(0, 30), 1000);
  EXPECT_EQ(curve->integral(2.5, 3.5), 50);
  EXPECT_EQ(curve->next_corner(1), 3);
  EXPECT_EQ(curve->next_corner(3), 4);
}

TEST(TableCurve, RampsAreStraight) {
  const CurvePtr curve = table_curve({{0, 0}, {10, 100}, {12, 100}}, true, 20);
  EXPECT_EQ(curve->at(5), 50);
  EXPECT_EQ(curve->integral(0, 10), 500);
  EXPECT_EQ(curve->integral(0, 20), 500 + 200 + 800);  // the last value lasts until the period
  EXPECT_FALSE(curve->steady_after(5));
  EXPECT_TRUE(curve->steady_after(11));
  EXPECT_TRUE(curve->steady_after(15));
  EXPECT_NEAR(curve->integral(3.25, 47.5), summed(*curve, 3.25, 47.5), 0.05);
}

TEST(TableCurve, CornersAlwaysLieAhead) {
  // 0.1 has no exact double: going from corner to corner must not stand still all the same.
  const CurvePtr curve = table_curve({{0, 1}, {0.1, 2}, {0.2, 3}}, false, 0.3);
  double t = 0;
  for (int i = 0; i < 10000; ++i) {
    const double next = curve->next_corner(t);
    ASSERT_GT(next, t);
    ASSERT_LT(next, t + 0.11);
    t = next;
  }
  // Each occurs once, or twice where rounding puts it before itself.
  EXPECT_GT(t, 900);
}

TEST(SineCurve, IntegratesInClosedForm) {
  const CurvePtr curve = sine_curve(60, 40, 8, 1);
  EXPECT_NEAR(curve->at(1), 100, 1e-12);  // (1 + 1) / 8 of a turn: the top
  EXPECT_NEAR(curve->at(5), 20, 1e-12);
  EXPECT_NEAR(curve->integral(0, 8), 480, 1e-9);
  EXPECT_NEAR(curve->integral(0.5, 13.75), summed(*curve, 0.5, 13.75), 1e-5);
  EXPECT_EQ(curve->next_corner(0), kNever);
  EXPECT_FALSE(curve->steady_after(0));
}

TEST(OutageCurve, IsNothingMeanwhileAndTheInnerGoesOn) {
  const CurvePtr inner = table_curve({{0, 100}, {2.5, 40}}, false);
  const CurvePtr curve = outage_curve(inner, {.first = 2, .every = 10, .lasts = 1});
  EXPECT_EQ(curve->at(1.9), 100);
  EXPECT_EQ(curve->at(2), 0);
  EXPECT_EQ(curve->at(2.9), 0);
  EXPECT_EQ(curve->at(3), 40);
  EXPECT_EQ(curve->integral(0, 10), 200 + 7 * 40);
  EXPECT_EQ(curve->integral(2.25, 2.75), 0);
  EXPECT_EQ(curve->next_corner(0), 2);
  EXPECT_EQ(curve->next_corner(2), 3);  // 2.5 shows nowhere
  EXPECT_EQ(curve->next_corner(3), 12);
  EXPECT_TRUE(curve->steady_after(2));
}

TEST(OutageCurve, MayComeOnce) {
  const CurvePtr curve = outage_curve(table_curve({{0, 8}}, false), {.first = 1, .lasts = 0.5});
  EXPECT_EQ(curve->integral(0, 100), 8 * 99.5);
  EXPECT_EQ(curve->next_corner(1.5), kNever);
}

TEST(OutageCurve, ManyShortOnesOverALongTime) {
  const CurvePtr curve =
      outage_curve(table_curve({{0, 1}}, false), {.first = 0.07, .every = 0.1, .lasts = 0.03});
  EXPECT_NEAR(curve->integral(0, 1000), 700, 1e-6);
  double t = 0;
  for (int i = 0; i < 20000; ++i) {
    const double next = curve->next_corner(t);
    ASSERT_GT(next, t);
    t = next;
  }
}

}  // namespace

}  // namespace thinpipe
