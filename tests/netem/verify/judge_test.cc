// Judgements of links against expectations, and the band of a loss.
#include "netem/verify/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "netem/verify/datagrams.h"
#include "netem/verify/expected.h"
#include "netem/verify/trial.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;

// 100 Mbit/s with every setting as it was set.
LinkReport good_report() {
  LinkReport report;
  report.link = parse_link_spec("rate=100mbit").with_defaults();
  DirectionGoodput way{{.goodput = 95e6, .low = 94e6, .high = 96e6}, 95.6e6, 1};
  report.goodput = GoodputReport{way, way, way, way, std::nullopt, std::nullopt};
  RoundTripReport round_trip;
  round_trip.idle = {50e-6, 60e-6, 70e-6, 100, 0};
  round_trip.wait = {0.05, 0};
  round_trip.full = RoundTrips{0.0495, 0.05, 0.05, 20, 2};
  report.round_trip = round_trip;
  DirectionLoss none{{.sent = 5000, .lost = 0}, {0, 0.0015}};
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
  for (DirectionGoodput GoodputReport::*direction :
       {&GoodputReport::forward, &GoodputReport::reverse, &GoodputReport::both_forward,
        &GoodputReport::both_reverse})
    for (const double factor : {0.96, 1.04}) {
      LinkReport report = good_report();
      ((*report.goodput).*direction).figures.goodput = factor * 95.6e6;
      EXPECT_THAT(reasons(report), HasSubstr("goodput")) << factor;
      EXPECT_EQ(judge(report, 0.05).holds(), true) << "a tolerance of 5 %";
    }
}

TEST(Judge, WhatABusyMachineDisturbedIsNotJudged) {
  LinkReport report = good_report();
  report.goodput->forward.figures.goodput = 50e6;
  report.disturbed[Measure::kGoodput] = "idle 0.4 %";
  const LinkVerdict unclear = judge(report);
  EXPECT_EQ(unclear.reasons, std::vector<std::string>());
  EXPECT_EQ(unclear.disturbed, std::vector<std::string>{"goodput (idle 0.4 %)"});
  EXPECT_FALSE(unclear.valid());
  EXPECT_EQ(unclear.holds(), std::nullopt) << "although everything else passed";
  report.change->median = 30e-3;
  EXPECT_EQ(judge(report).holds(), false) << "a measurement on a quiet machine counts";
}

TEST(Judge, BothAtOnceMayStayBelowWhereASwitchDrops) {
  LinkReport report = good_report();
  report.link = parse_link_spec("rate=100mbit,place=switch").with_defaults();
  report.goodput->both_reverse.figures.goodput = 80e6;
  EXPECT_EQ(reasons(report), "");
  report.goodput->both_reverse.figures.goodput = 105e6;
  EXPECT_NE(reasons(report), "");
}

TEST(Judge, RoundTripsAndQueues) {
  LinkReport report = good_report();
  report.round_trip->idle.median = 3e-3;
  report.round_trip->full->median = 53e-3;
  EXPECT_THAT(reasons(report), HasSubstr("idle round trip is 3 ms"));
  report = good_report();
  report.round_trip->idle.lost = 1;
  EXPECT_THAT(reasons(report), HasSubstr("probes of the idle link were lost"));
  for (const double wait : {0.03, 0.07}) {
    report = good_report();
    report.round_trip->full->median = wait;
    EXPECT_THAT(reasons(report), HasSubstr("full queue")) << wait;
  }
  report = good_report();
  report.link = parse_link_spec("rate=100mbit,delay=10ms").with_defaults();
  report.round_trip->set = 0.02;
  EXPECT_THAT(reasons(report), HasSubstr("idle")) << "the delay is not there";
}

TEST(Judge, LossOutsideTheInterval) {
  LinkReport report = good_report();
  report.loss->expected = 0.01;
  EXPECT_THAT(reasons(report), HasSubstr("but 1 % was set"));
  report = good_report();
  report.loss->reverse = {{.sent = 5000, .lost = 50}, {0.006, 0.0155}};
  EXPECT_THAT(reasons(report), HasSubstr("reverse datagrams were lost"));
  report.loss->forward = report.loss->reverse;
  report.loss->expected = 0.01;
  EXPECT_EQ(reasons(report), "");
}

TEST(Judge, BurstsAndChanges) {
  for (const double depth : {6e3, 20e3}) {
    LinkReport report = good_report();
    report.burst->reverse.depth = depth;
    EXPECT_THAT(reasons(report), HasSubstr("the reverse token-bucket depth is")) << depth;
  }
  LinkReport report = good_report();
  report.change->median = 30e-3;
  EXPECT_THAT(reasons(report), HasSubstr("30 ms"));
  report = good_report();
  report.change->lost = 1;
  EXPECT_THAT(reasons(report), HasSubstr("were lost while the rate changed"));
  report = good_report();
  report.change->unseen = 5;
  EXPECT_THAT(reasons(report), HasSubstr("5 of 8 new rates did not take effect"));
}

TEST(Judge, ToolsThatDisagreeAreASuspicion) {
  LinkReport report = good_report();
  ToolReport tools;
  tools.forward = {"iperf3", 94e6, ""};
  tools.reverse = {"iperf3", 80e6, ""};
  tools.round_trip = {"ping", 5e-3, ""};
  tools.own_forward = tools.own_reverse = 95e6;
  tools.own_round_trip = 50e-6;
  report.tools = tools;
  const LinkVerdict verdict = judge(report);
  EXPECT_EQ(verdict.holds(), true);
  ASSERT_EQ(verdict.warnings.size(), 2U);
  EXPECT_THAT(verdict.warnings[0], HasSubstr("iperf3 measures a reverse goodput of 80 Mbit/s"));
  EXPECT_THAT(verdict.warnings[1], HasSubstr("ping measures a round trip of 5 ms"));
}

TEST(Expected, AcknowledgementsTakeTheirShare) {
  const LinkSpec link = parse_link_spec("rate=100mbit");
  // 4000 a second of 66 bytes are 2.112 Mbit/s.
  EXPECT_NEAR(link.tcp_ceiling(4000), (100e6 - 2.112e6) * 1448 / 1514, 1);
  // Each is charged `overhead`, too; the slower direction decides.
  EXPECT_NEAR(parse_link_spec("up.rate=50mbit,down.rate=80mbit,overhead=24").tcp_ceiling(1000),
              (50e6 - 720e3) * 1448 / 1538, 1);
  EXPECT_EQ(LinkSpec{}.tcp_ceiling(1000), 0);
}

TEST(Expected, WaitsInEveryQueueThatFills) {
  // Both directions as fast: the second has nothing to wait for.
  EXPECT_NEAR(queue_wait(parse_link_spec("rate=8mbit,queue=20000"), 1.25).seconds, 0.02, 1e-9);
  // 1.25 times 8 Mbit/s are more than 9: 20 ms at 8, and 16 at 10.
  const LinkSpec both = parse_link_spec("up.rate=10mbit,down.rate=8mbit,queue=20000");
  EXPECT_NEAR(queue_wait(both, 1.2).seconds, 0.02, 1e-9);
  EXPECT_NEAR(queue_wait(both, 1.5).seconds, 0.036, 1e-9);
  // A burst of data reaches the second queue 2 Mbit/s faster than the queue drains, so the queue of
  // 160 kbit fills in 80 ms.
  EXPECT_NEAR(queue_wait(both, 1.2).filling, 0.08, 1e-9);
  EXPECT_NEAR(queue_wait(parse_link_spec("up.rate=8mbit,queue=20000"), 2).seconds, 0.02, 1e-9);
  // 24 bytes more for each of 1514.
  EXPECT_NEAR(queue_wait(parse_link_spec("rate=8mbit,queue=20000,overhead=24"), 1.25).seconds,
              0.02 * 1538 / 1514, 1e-9);
}

TEST(Expected, TheLesserOfTwoBucketsGivesCredit) {
  EXPECT_EQ(bucket_depth(parse_link_spec("rate=10mbit,up.burst=9000,down.burst=5000"), 1514), 5000);
  EXPECT_EQ(bucket_depth(parse_link_spec("rate=10mbit,up.burst=5000,down.burst=9000"), 1514), 5000);
  // Where rates differ, the slower direction's bucket counts.
  EXPECT_EQ(
      bucket_depth(parse_link_spec("up.rate=9mbit,down.rate=10mbit,up.burst=9000,down.burst=5000"),
                   1514),
      9000);
  EXPECT_EQ(bucket_depth(parse_link_spec("down.rate=10mbit,down.burst=5000"), 1514), 5000);
  // HTB owes for the last frame; netem saves nothing.
  EXPECT_EQ(bucket_depth(parse_link_spec("rate=10mbit,burst=5000,shaper=htb"), 1000), 6000);
  EXPECT_EQ(bucket_depth(parse_link_spec("rate=10mbit,shaper=netem"), 1000), 1000);
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
  // With one state that loses all frames and one that loses none, the clustering is 1 + 2 m / (1 -
  // m), where m = 1 - 0.01 - 0.09.
  EXPECT_NEAR(loss_clustering(parse_link_spec("loss=ge:1%/9%")), 1 + 2 * 0.9 / 0.1, 1e-9);
}

TEST(ClopperPearson, IsExactAtTheEnds) {
  // For 0 successes in n trials, the high end is the fraction at which this result has probability
  // (1 - confidence) / 2. This fraction is 1 - 0.025^(1/n).
  const ShareInterval none = clopper_pearson(0, 10, 0.95);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 1 - std::pow(0.025, 0.1), 1e-12);
  const ShareInterval all = clopper_pearson(10, 10, 0.95);
  EXPECT_NEAR(all.low, std::pow(0.025, 0.1), 1e-12);
  EXPECT_EQ(all.high, 1);
  // One of n: 1 - (1 - low)^n = 0.025.
  EXPECT_NEAR(clopper_pearson(1, 100, 0.95).low, 1 - std::pow(0.975, 0.01), 1e-12);
}

double binomial_tail(int from, int trials, double share) {
  double sum = 0;
  for (int k = from; k <= trials; ++k)
    sum += std::exp(std::lgamma(trials + 1) - std::lgamma(k + 1) - std::lgamma(trials - k + 1) +
                    k * std::log(share) + (trials - k) * std::log1p(-share));
  return sum;
}

// By definition, at the interval's low end the observed number or more has probability (1 -
// confidence) / 2. At the high end the observed number or fewer has this probability.
TEST(ClopperPearson, IsWhatTheBinomialSays) {
  for (const auto& [count, trials] : {std::pair(5, 10), std::pair(3, 1000), std::pair(940, 1000)}) {
    const ShareInterval interval = clopper_pearson(count, trials, 0.999);
    EXPECT_NEAR(binomial_tail(count, trials, interval.low), 0.0005, 1e-9) << count;
    EXPECT_NEAR(1 - binomial_tail(count + 1, trials, interval.high), 0.0005, 1e-9) << count;
  }
}

TEST(ClopperPearson, ShrinksWithTrialsAndHoldsTheShare) {
  const ShareInterval few = clopper_pearson(10, 1000, 0.999),
                      many = clopper_pearson(100, 10000, 0.999);
  EXPECT_LT(many.high - many.low, (few.high - few.low) / 2);
  EXPECT_TRUE(many.holds(0.01));
  EXPECT_FALSE(many.holds(0.02));
  EXPECT_FALSE(many.holds(0.005));
}

TEST(JudgesGoodput, WhereOneLinkIsAlwaysTheBottleneckAndOnlyItsRateChanges) {
  const ScheduleSpec rates = parse_schedule("steps:0s=50%");
  TrialResult result;
  EXPECT_TRUE(judges_goodput(false, rates, result));
  EXPECT_FALSE(judges_goodput(true, rates, result));
  EXPECT_FALSE(judges_goodput(false, parse_schedule("host0:steps:of=delay,0s=5ms"), result));
  EXPECT_FALSE(judges_goodput(false, parse_schedule("steps:of=loss,0s=1%"), result));
  result.links_take_turns = true;
  EXPECT_FALSE(judges_goodput(false, rates, result));
}

}  // namespace

}  // namespace thinpipe
