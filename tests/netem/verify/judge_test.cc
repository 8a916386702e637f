#include "netem/verify/judge.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

// 100 Mbit/s that is in every way as it was set.
LinkReport good_report() {
  LinkReport report;
  report.link = parse_link_spec("rate=100mbit").with_defaults();
  GoodputWay way{{.goodput = 95e6, .low = 94e6, .high = 96e6}, 95.6e6, 1};
  report.goodput = GoodputReport{way, way, way, way, std::nullopt, std::nullopt};
  RoundTripReport round_trip;
  round_trip.idle = {50e-6, 60e-6, 70e-6, 100, 0};
  round_trip.wait = {0.05, 0};
  round_trip.full = RoundTrips{0.0495, 0.05, 0.05, 20, 2};
  report.round_trip = round_trip;
  LossWay none{{.sent = 5000, .lost = 0}, {0, 0.0015}};
  report.loss = LossReport{none, none, 0};
  const BurstFigures burst{12.4e3, 12e3, 12.5e3, 12.5e3, 1514, ""};
  report.burst = BurstReport{burst, burst};
  report.change = ChangeFigures{2e-4, 1e-3, 8, 0, 1000, 0, ""};
  return report;
}

std::string reasons(const LinkReport& report) {
  std::string all;
  for (const std::string& reason : judge(report).reasons) all += reason + "\n";
  return all;
}

TEST(Judge, AGoodLinkHolds) {
  EXPECT_EQ(reasons(good_report()), "");
  EXPECT_EQ(judge(good_report()).holds(), true);
}

TEST(Judge, NothingMeasuredIsNoVerdict) {
  EXPECT_EQ(judge(LinkReport{}).holds(), std::nullopt);
  LinkReport lossy = good_report();
  lossy.link = parse_link_spec("rate=100mbit,loss=1%").with_defaults();
  lossy.round_trip.reset(), lossy.loss.reset(), lossy.burst.reset(), lossy.change.reset();
  EXPECT_EQ(judge(lossy).holds(), std::nullopt) << "TCP's goodput of a lossy link";
}

TEST(Judge, EveryGoodputMustReachItsCeilingAndNotPassIt) {
  for (GoodputWay GoodputReport::*way : {&GoodputReport::there, &GoodputReport::back,
                                         &GoodputReport::both_there, &GoodputReport::both_back})
    for (const double factor : {0.96, 1.04}) {
      LinkReport report = good_report();
      ((*report.goodput).*way).figures.goodput = factor * 95.6e6;
      EXPECT_NE(reasons(report).find("goodput"), std::string::npos) << factor;
      EXPECT_EQ(judge(report, 0.05).holds(), true) << "a tolerance of 5 %";
    }
}

TEST(Judge, WhatABusyMachineDisturbedIsNotJudged) {
  LinkReport report = good_report();
  report.goodput->there.figures.goodput = 50e6;
  report.disturbed[Measure::kGoodput] = "idle 0.4 %";
  const LinkVerdict unclear = judge(report);
  EXPECT_EQ(unclear.reasons, std::vector<std::string>());
  EXPECT_EQ(unclear.disturbed, std::vector<std::string>{"goodput (idle 0.4 %)"});
  EXPECT_FALSE(unclear.valid());
  EXPECT_EQ(unclear.holds(), std::nullopt) << "although everything else passed";
  report.change->median = 30e-3;
  EXPECT_EQ(judge(report).holds(), false) << "what was measured on a quiet machine counts";
}

TEST(Judge, BothAtOnceMayStayBelowWhereASwitchDrops) {
  LinkReport report = good_report();
  report.link = parse_link_spec("rate=100mbit,place=switch").with_defaults();
  report.goodput->both_back.figures.goodput = 80e6;
  EXPECT_EQ(reasons(report), "");
  report.goodput->both_back.figures.goodput = 105e6;
  EXPECT_NE(reasons(report), "");
}

TEST(Judge, RoundTripsAndQueues) {
  LinkReport report = good_report();
  report.round_trip->idle.median = 3e-3;
  report.round_trip->full->median = 53e-3;
  EXPECT_NE(reasons(report).find("idle round trip is 3 ms"), std::string::npos);
  report = good_report();
  report.round_trip->idle.lost = 1;
  EXPECT_NE(reasons(report).find("did not come back"), std::string::npos);
  for (const double wait : {0.03, 0.07}) {
    report = good_report();
    report.round_trip->full->median = wait;
    EXPECT_NE(reasons(report).find("full queue"), std::string::npos) << wait;
  }
  report = good_report();
  report.link = parse_link_spec("rate=100mbit,delay=10ms").with_defaults();
  report.round_trip->set = 0.02;
  EXPECT_NE(reasons(report).find("idle"), std::string::npos) << "the delay is not there";
}

TEST(Judge, LossOutsideTheInterval) {
  LinkReport report = good_report();
  report.loss->expected = 0.01;
  EXPECT_NE(reasons(report).find("1 % were set"), std::string::npos);
  report = good_report();
  report.loss->back = {{.sent = 5000, .lost = 50}, {0.006, 0.0155}};
  EXPECT_NE(reasons(report).find("back were lost"), std::string::npos);
  report.loss->there = report.loss->back;
  report.loss->expected = 0.01;
  EXPECT_EQ(reasons(report), "");
}

TEST(Judge, BurstsAndChanges) {
  for (const double credit : {6e3, 20e3}) {
    LinkReport report = good_report();
    report.burst->back.credit = credit;
    EXPECT_NE(reasons(report).find("back let"), std::string::npos) << credit;
  }
  LinkReport report = good_report();
  report.change->median = 30e-3;
  EXPECT_NE(reasons(report).find("30 ms"), std::string::npos);
  report = good_report();
  report.change->lost = 1;
  EXPECT_NE(reasons(report).find("were lost while the rate changed"), std::string::npos);
  report = good_report();
  report.change->unseen = 5;
  EXPECT_NE(reasons(report).find("5 of 8 new rates were not seen"), std::string::npos);
}

TEST(Judge, ToolsThatDisagreeAreASuspicion) {
  LinkReport report = good_report();
  ToolReport tools;
  tools.there = {"iperf3", 94e6, ""};
  tools.back = {"iperf3", 80e6, ""};
  tools.round_trip = {"ping", 5e-3, ""};
  tools.own_there = tools.own_back = 95e6;
  tools.own_round_trip = 50e-6;
  report.tools = tools;
  const LinkVerdict verdict = judge(report);
  EXPECT_EQ(verdict.holds(), true);
  ASSERT_EQ(verdict.warnings.size(), 2U);
  EXPECT_NE(verdict.warnings[0].find("iperf3 measures 80 Mbit/s back"), std::string::npos);
  EXPECT_NE(verdict.warnings[1].find("ping measures a round trip of 5 ms"), std::string::npos);
}

}  // namespace
}  // namespace thinpipe
