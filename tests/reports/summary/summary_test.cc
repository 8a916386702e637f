// Speed-ups and break-even rates of a run, and agreement between time scales.
#include "reports/summary/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "base/error.h"
#include "reports/summary/time_scale.h"
#include "reports/text/phrases.h"
#include "tests/base/support.h"
#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

using ::testing::HasSubstr;
using Kind = BreakEven::Kind;

SpeedupAtRate at(double rate, double speedup) { return {rate, {speedup, std::nullopt}}; }

SpeedupAtRate at(double rate, double low, double speedup, double high) {
  return {rate, {speedup, Interval{low, high}}};
}

// ln speed-up falls from ln 4 to -ln 4 between 1e7 and 1e9: zero half-way in ln rate, at 1e8.
TEST(BreakEven, HalfWayInLogLog) {
  const BreakEven even = break_even(std::vector{at(1e7, 4), at(1e9, 0.25)});
  EXPECT_EQ(even.kind, Kind::kPaysBelow);
  EXPECT_NEAR(even.rate, 1e8, 1);
  EXPECT_EQ(even.crossings, 1);
}

// From ln 8 at 1e8 to -ln 2 at 1e9: zero after 3/4 of the interval: 10^8.75.
TEST(BreakEven, UnevenSides) {
  const BreakEven even = break_even(std::vector{at(1e7, 20), at(1e8, 8), at(1e9, 0.5)});
  EXPECT_NEAR(even.rate / 5.623413251903491e8, 1, 1e-12);
}

// Lower ends 4 -> 1/16: ln 4 : ln 16 = 1 : 2, zero after 1/3: 10^(7 + 2/3).
// Upper ends 16 -> 1/4: zero after 2/3: 10^(7 + 4/3).
TEST(BreakEven, IntervalFromTheIntervalsEnds) {
  const BreakEven even = break_even(std::vector{at(1e7, 4, 8, 16), at(1e9, 0.0625, 0.125, 0.25)});
  EXPECT_NEAR(*even.low / 4.641588833612779e7, 1, 1e-12);
  EXPECT_NEAR(even.rate / 1e8, 1, 1e-12);
  EXPECT_NEAR(*even.high / 2.1544346900318843e8, 1, 1e-12);
}

TEST(BreakEven, AnEndThatNeverCrossesHasNoBound) {
  const BreakEven even = break_even(std::vector{at(1e7, 4, 8, 16), at(1e9, 0.5, 0.9, 1.1)});
  EXPECT_TRUE(even.low.has_value());
  EXPECT_FALSE(even.high.has_value());
}

TEST(BreakEven, EverywhereNowhereNothing) {
  EXPECT_EQ(break_even(std::vector{at(1e7, 4), at(1e9, 1.01)}).kind, Kind::kPaysEverywhere);
  EXPECT_EQ(break_even(std::vector{at(1e7, 1), at(1e9, 0.5)}).kind, Kind::kPaysNowhere);
  EXPECT_EQ(break_even({}).kind, Kind::kNothingMeasured);
  EXPECT_EQ(break_even(std::vector{at(1e7, 4)}).kind, Kind::kPaysEverywhere);
}

// Faster, slower and neither: an interval that contains 1 decides nothing.
TEST(BreakEven, TellsOnlyWhatIntervalsTell) {
  EXPECT_EQ(pays({1.2, Interval{1.1, 1.3}}), Pays::kYes);
  EXPECT_EQ(pays({0.9, Interval{0.8, 1.0}}), Pays::kNo);
  EXPECT_EQ(pays({1.02, Interval{0.98, 1.05}}), Pays::kOpen);
  EXPECT_EQ(pays({1.02, std::nullopt}), Pays::kYes);
}

TEST(BreakEven, IsOpenWhereAnIntervalHoldsOne) {
  EXPECT_EQ(break_even(std::vector{at(1e7, 3, 4, 5), at(1e9, 0.98, 1.02, 1.05)}).kind, Kind::kOpen);
  EXPECT_EQ(break_even(std::vector{at(1e7, 0.7, 0.9, 1.1), at(1e9, 0.4, 0.5, 0.6)}).kind,
            Kind::kOpen);
  EXPECT_EQ(break_even(std::vector{at(1e7, 0.9, 1.1, 1.2), at(1e9, 0.8, 0.9, 1.1)}).kind,
            Kind::kOpen);
  EXPECT_EQ(break_even(std::vector{at(1e7, 3, 4, 5), at(1e9, 0.8, 0.9, 1.1)}).kind,
            Kind::kPaysBelow);
  // Slower at one rate, and at none certainly faster.
  EXPECT_EQ(break_even(std::vector{at(1e7, 0.97, 1.01, 1.05), at(1e9, 0.49, 0.5, 0.51)}).kind,
            Kind::kOpen);
}

TEST(BreakEven, PaysOnlyAbove) {
  const BreakEven even = break_even(std::vector{at(1e7, 0.2, 0.25, 0.3), at(1e9, 3, 4, 5)});
  EXPECT_EQ(even.kind, Kind::kPaysAbove);
  EXPECT_NEAR(even.rate / 1e8, 1, 1e-12);
  EXPECT_LT(*even.low, even.rate);
  EXPECT_GT(*even.high, even.rate);
}

TEST(BreakEven, OfSeveralCrossingsTheHighestStopCounts) {
  const BreakEven even =
      break_even(std::vector{at(1e6, 2), at(1e7, 0.5), at(1e8, 2), at(1e10, 0.5)});
  EXPECT_EQ(even.crossings, 3);
  EXPECT_NEAR(even.rate / 1e9, 1, 1e-12);
}

// Below 100 Mbit/s the compressor seems to be as fast again, but no interval shows that. Only at
// 1 Gbit/s is it certainly faster. The log speed-up rises from ln 1/2 at 1e8 bit/s to ln 2 at 1e9:
// it is zero half-way, at 10^8.5.
TEST(BreakEven, AStopBelowWhichNothingIsCertainDoesNotCount) {
  const BreakEven even = break_even(
      std::vector{at(1e7, 0.97, 1.01, 1.05), at(1e8, 0.4, 0.5, 0.6), at(1e9, 1.5, 2, 2.5)});
  EXPECT_EQ(even.kind, Kind::kPaysAbove);
  EXPECT_NEAR(even.rate / 3.1622776601683795e8, 1, 1e-12);
  EXPECT_LT(*even.low, even.rate);
  EXPECT_GT(*even.high, even.rate);
  // Not certainly faster anywhere.
  EXPECT_EQ(break_even(std::vector{at(1e7, 0.97, 1.01, 1.05), at(1e8, 0.4, 0.5, 0.6),
                                   at(1e9, 0.9, 1.1, 1.3)})
                .kind,
            Kind::kOpen);
}

// The lower ends cross again at a higher rate, where the speed-ups themselves do not.
TEST(BreakEven, TheLowerEndIsNotOfAnotherCrossing) {
  const BreakEven even = break_even(std::vector{at(1e6, 1.4, 1.5, 1.6), at(1e7, 0.7, 0.8, 0.9),
                                                at(1e8, 1.05, 1.1, 1.2), at(1e9, 0.95, 1.02, 1.1)});
  EXPECT_EQ(even.kind, Kind::kPaysBelow);
  EXPECT_LT(even.rate, 1e7);
  EXPECT_LT(*even.low, even.rate);
  EXPECT_GT(*even.high, even.rate);
}

// The upper ends cross at a lower rate only: above the break-even rate they stay above 1.
TEST(BreakEven, TheUpperEndIsNotOfAnotherCrossing) {
  const BreakEven even = break_even(std::vector{at(1e6, 1.15, 1.2, 1.3), at(1e7, 0.85, 0.9, 0.95),
                                                at(1e8, 1.05, 1.1, 1.2), at(1e9, 0.9, 0.95, 1.05)});
  EXPECT_EQ(even.kind, Kind::kPaysBelow);
  EXPECT_GT(even.rate, 1e8);
  EXPECT_LT(*even.low, even.rate);
  EXPECT_FALSE(even.high.has_value());
}

// Eight steps of so many seconds.
Point steady(const std::string& compressor, double rate, double seconds, int repeat = 0) {
  return sample::point(compressor, rate, repeat, std::vector<double>(8, seconds));
}

Point with_status(Point point, Status status, const std::string& reason) {
  point.status = status;
  point.reasons = {reason};
  return point;
}

TEST(Summary, GroupsByRanksAndLinkButNotByRate) {
  Point slow = sample::point("none", 1e7, 0, {1});
  slow.axes.link = "rate=10mbit,delay=10ms";
  slow.axes.delay = 0.01;
  Point eight = sample::point("none", 1e7, 0, {1});
  eight.axes.ranks = 8;
  const Records records = sample::records(
      {eight, slow, sample::point("none", 1e7, 0, {1}), sample::point("none", 1e8, 0, {1})});
  const Summary summary = summarize(records);
  ASSERT_EQ(summary.groups.size(), 3u);
  EXPECT_EQ(summary.groups[0].title, "4 ranks");
  EXPECT_EQ(summary.groups[0].rates, (std::vector<double>{1e7, 1e8}));
  EXPECT_EQ(summary.groups[1].title, "4 ranks, delay=10ms");
  EXPECT_EQ(summary.groups[2].title, "8 ranks");
}

TEST(Summary, AMetricsMedianIsNotItsMean) {
  const Records records = sample::records({sample::point("none", 1e7, 0, {1, 1, 1, 1, 1, 1, 8})});
  const Cell cell = summarize(records).groups[0].series[0].cells[0];
  EXPECT_EQ(cell.median_of_metric("step_time"_metric), 1);
  EXPECT_EQ(cell.mean_of_metric("step_time"_metric), 2);
}

// none takes 2 s, topk 0.5 s at 10 Mbit/s: 4 times as fast; 2 s against 4 s at 1 Gbit/s: 0.5 times.
// ln 4 to -ln 2 over ln 100: zero after 2/3: 10^(7 + 4/3).
TEST(Summary, SpeedupAndBreakEven) {
  const Records records = sample::records({steady("none", 1e7, 2), steady("none", 1e9, 2),
                                           steady("topk", 1e7, 0.5), steady("topk", 1e9, 4)});
  const Summary summary = summarize(records);
  const Series &none = summary.groups[0].series[0], &topk = summary.groups[0].series[1];
  EXPECT_TRUE(none.is_baseline());
  EXPECT_EQ(none.style, 0u);
  EXPECT_FALSE(none.cells[0].speedup.has_value());
  EXPECT_DOUBLE_EQ(topk.cells[0].speedup->value, 4);
  EXPECT_DOUBLE_EQ(topk.cells[1].speedup->value, 0.5);
  EXPECT_EQ(topk.break_even.kind, BreakEven::Kind::kPaysBelow);
  EXPECT_NEAR(topk.break_even.rate / 2.1544346900318843e8, 1, 1e-12);
}

TEST(Summary, InvalidRepeatsCountOnlyWhereThereIsNoGoodOne) {
  const Records records = sample::records(
      {steady("none", 1e7, 2), with_status(steady("none", 1e7, 9, 1), Status::kInvalid, "clock"),
       with_status(steady("topk", 1e7, 1), Status::kInvalid, "clock"),
       with_status(sample::point("sbc", 1e7, 0, {}), Status::kFailed, "died")});
  const Summary summary = summarize(records);
  const std::vector<Series>& series = summary.groups[0].series;  // none, sbc, topk
  EXPECT_DOUBLE_EQ(series[0].cells[0].step_time->value, 2);
  EXPECT_EQ(series[0].cells[0].invalid, 1);
  EXPECT_EQ(series[1].cells[0].status, Status::kFailed);
  EXPECT_FALSE(series[1].cells[0].step_time.has_value());
  EXPECT_EQ(series[2].cells[0].status, Status::kInvalid);
  EXPECT_TRUE(series[2].cells[0].step_time.has_value());
  EXPECT_FALSE(series[2].cells[0].speedup.has_value());
  EXPECT_EQ(series[2].break_even.kind, BreakEven::Kind::kNothingMeasured);
}

// Medians of the repeats 1 and 3, of all 2: both are 50 % off.
TEST(Summary, RepeatsThatDisagreeAreMeasured) {
  const Records records = sample::records({steady("none", 1e7, 1), steady("none", 1e7, 3, 1)});
  EXPECT_DOUBLE_EQ(*summarize(records).groups[0].series[0].cells[0].repeat_spread, 0.5);
}

TEST(Summary, TheFastestCollectiveOfNoneIsTheBaseline) {
  Point library = steady("none", 1e7, 3);
  library.id += "|mpi";
  library.axes.collective = "allreduce-mpi";
  const Records records =
      sample::records({library, steady("none", 1e7, 2), steady("topk", 1e7, 1)});
  const Summary summary = summarize(records);
  const Group& group = summary.groups[0];
  ASSERT_EQ(group.series.size(), 3u);
  EXPECT_EQ(group.series[0].label, "none (mpi)");
  EXPECT_DOUBLE_EQ(group.series[2].cells[0].speedup->value, 2);
  EXPECT_NEAR(group.series[0].cells[0].speedup->value, 2.0 / 3, 1e-15);
}

// The bf16 that is not trusted may be the faster one.
TEST(Summary, WithoutTrustedTimesOfOneBaselineThereIsNoFasterOne) {
  const Records records = sample::records(
      {steady("none", 1e7, 4), with_status(steady("bf16", 1e7, 2), Status::kInvalid, "clock"),
       steady("topk", 1e7, 1), steady("none", 1e9, 0.5), steady("topk", 1e9, 1)});
  const Summary summary = summarize(records);
  const Series& topk = summary.groups[0].series[2];
  ASSERT_EQ(topk.label, "topk");
  EXPECT_FALSE(topk.cells[0].speedup.has_value());
  EXPECT_FALSE(topk.cells[0].over_bf16.has_value());
  EXPECT_DOUBLE_EQ(topk.cells[0].over_fp32->value, 4);
  EXPECT_FALSE(topk.cells[1].speedup.has_value());  // bf16 was not measured at this rate
}

// bf16 is the faster one at 10 Mbit/s, none at 1 Gbit/s.
TEST(Summary, CompressorsAreHeldAgainstTheFasterOfBothBaselines) {
  const Records records =
      sample::records({steady("topk", 1e7, 1), steady("topk", 1e9, 1), steady("bf16", 1e7, 2),
                       steady("bf16", 1e9, 3), steady("none", 1e7, 4), steady("none", 1e9, 0.5)});
  const Summary summary = summarize(records);
  const Group& group = summary.groups[0];
  ASSERT_EQ(group.series.size(), 3u);
  EXPECT_EQ(group.series[0].baseline, Baseline::kFp32);
  EXPECT_EQ(group.series[1].baseline, Baseline::kBf16);
  EXPECT_EQ(group.series[1].style, 1u);
  EXPECT_EQ(group.baseline(1e7)->label, "bf16");
  EXPECT_EQ(group.baseline(1e9)->label, "none");
  EXPECT_EQ(group.baseline(1e9, Baseline::kBf16)->label, "bf16");
  EXPECT_EQ(group.baseline_name(), "the faster of bf16 and none");
  const Series& topk = group.series[2];
  EXPECT_EQ(topk.cells[0].over, "bf16");
  EXPECT_DOUBLE_EQ(topk.cells[0].speedup->value, 2);
  EXPECT_DOUBLE_EQ(topk.cells[0].over_bf16->value, 2);
  EXPECT_DOUBLE_EQ(topk.cells[0].over_fp32->value, 4);
  EXPECT_EQ(topk.cells[1].over, "none");
  EXPECT_DOUBLE_EQ(topk.cells[1].speedup->value, 0.5);
  EXPECT_DOUBLE_EQ(topk.cells[1].over_bf16->value, 3);
  // Between 10^7 and 10^9 bit/s, the log speed-up is linear in the log rate. Over the faster
  // baseline it falls from ln 2 to -ln 2, so it is zero half-way, at 10^8. Over `none` it falls
  // from ln 4 to -ln 2, so it is zero after two thirds, at 10^(7+4/3).
  EXPECT_NEAR(topk.break_even.rate / 1e8, 1, 1e-12);
  EXPECT_NEAR(topk.break_even_fp32.rate / 2.1544346900318843e8, 1, 1e-12);
  EXPECT_FALSE(group.series[1].cells[0].speedup);
  EXPECT_DOUBLE_EQ(group.series[1].cells[0].over_fp32->value, 2);
}

// As in a shard: bf16 was measured at one rate only.
TEST(Summary, WhereABaselineLacksAPointNobodyKnowsWhichIsFaster) {
  const Summary summary = summarize(
      sample::records({steady("none", 1e7, 4), steady("none", 1e9, 2), steady("bf16", 1e9, 1),
                       steady("topk", 1e7, 1), steady("topk", 1e9, 0.5)}));
  const Series& topk = summary.groups[0].series.back();
  EXPECT_FALSE(topk.cells[0].speedup);
  EXPECT_DOUBLE_EQ(topk.cells[0].over_fp32->value, 4);
  EXPECT_DOUBLE_EQ(topk.cells[1].speedup->value, 2);
}

TEST(Summary, SixteenBitsThatAreGatheredAreNoBaseline) {
  Point gathered = steady("bf16:exchange=allgather", 1e7, 1);
  gathered.axes.collective = "allgather-ring";
  const Summary summary = summarize(sample::records({steady("none", 1e7, 2), gathered}));
  EXPECT_FALSE(summary.groups[0].series[1].is_baseline());
  EXPECT_EQ(summary.groups[0].baseline_name(), "none");
  EXPECT_DOUBLE_EQ(summary.groups[0].series[1].cells[0].speedup->value, 2);
}

TEST(Summary, SumsThatQgzQuantisesAndCompressedAnswersAreNoBaseline) {
  Point point = sample::point("none", 1e8, 0, {1});
  point.axes.collective = "allreduce-qgz:group=2";
  EXPECT_FALSE(point.axes.baseline());
  point.axes.collective = "pushpull-ps:pull=(3lc:s=1.5)";
  EXPECT_FALSE(point.axes.baseline());
  point.axes.collective = "pushpull-twoshot:second=none";
  EXPECT_EQ(point.axes.baseline(), Baseline::kFp32);
  point.axes.collective = "allreduce-ring";
  EXPECT_EQ(point.axes.baseline(), Baseline::kFp32);
}

// On real machines, of which one run was throttled to the link and another was not.
TEST(Summary, ThrottledAndOtherNetworksAreGroupsOfTheirOwn) {
  Point real = sample::point("none", 1e9, 0, {1});
  real.axes.engine = kNetworkEngine;
  const Records records = sample::records({sample::point("none", 1e9, 0, {1}), real});
  const Summary summary = summarize(records);
  ASSERT_EQ(summary.groups.size(), 2U);
  EXPECT_THAT(summary.groups[1].title, HasSubstr("on a network as it is"));
}

TEST(Summary, BucketingsAreSeriesOfTheirOwnAndLocalStepsNoBaseline) {
  const auto fed = [](const std::string& compressor, const std::string& bucketing, double seconds) {
    Point point = steady(compressor, 1e7, seconds);
    point.id += "|" + bucketing;
    point.axes.bucketing = bucketing;
    return point;
  };
  const Records records = sample::records(
      {steady("none", 1e7, 4), fed("none", "overlap=bucket;buckets=first=1kb", 2),
       fed("none", "local_steps=4", 1), fed("topk", "overlap=bucket;buckets=first=1kb", 0.5)});
  const Summary summary = summarize(records);
  const Group& group = summary.groups[0];
  ASSERT_EQ(group.series.size(), 4u);
  EXPECT_EQ(group.baseline(1e7)->at(1e7)->step_time->value, 2);
  std::set<std::string> labels;
  for (const Series& series : group.series) labels.insert(series.label);
  EXPECT_EQ(labels, (std::set<std::string>{"none", "none (overlap=bucket, buckets=first=1kb)",
                                           "none (local_steps=4)", "topk"}));
}

TEST(WayLabels, SayWhatTellsWaysApart) {
  const auto labels = [](const std::vector<Way>& ways) { return way_labels(ways); };
  using Labels = std::vector<std::string>;
  EXPECT_EQ(labels({{"ring", "overlap=bucket"}}), Labels{""});
  EXPECT_EQ(labels({{"ring", ""}, {"tree", ""}}), (Labels{"ring", "tree"}));
  EXPECT_EQ(labels({{"allreduce-ring", ""}, {"allreduce-tree", ""}}), (Labels{"ring", "tree"}));
  EXPECT_EQ(labels({{"allreduce-ring", ""}, {"allgather-ring", ""}}),
            (Labels{"allreduce-ring", "allgather-ring"}));
  EXPECT_EQ(labels({{"ring", ""}, {"ring", "overlap=bucket;buckets=b"}}),
            (Labels{"", "overlap=bucket"}));
  EXPECT_EQ(labels({{"ring", "overlap=bucket"}, {"ring", "overlap=bucket;codec=thread"}}),
            (Labels{"", "codec=thread"}));
  EXPECT_EQ(labels({{"ring", ""}, {"ring", "a"}, {"tree", "a;b"}}),
            (Labels{"ring", "ring, a", "tree, b"}));
}

TEST(Summary, StepsWithoutATimeAreNotCompared) {
  const Records records = sample::records(
      {steady("none", 1e7, 2), steady("topk", 1e7, 0), sample::point("sbc", 1e7, 0, {})});
  const Summary summary = summarize(records);
  EXPECT_FALSE(summary.groups[0].series[1].cells[0].step_time.has_value());
  EXPECT_FALSE(summary.groups[0].series[2].cells[0].speedup.has_value());
}

Point scaled_at(double factor, const std::string& compressor, double rate,
                std::vector<double> times) {
  Point point = sample::point(compressor, rate, 0, std::move(times));
  point.axes.time_scale = factor;
  point.id += "|x" + std::to_string(factor);
  return point;
}

const std::vector<double> kAboutOne = {0.99, 1.0, 1.01, 1.0, 0.995, 1.005, 1.0, 0.998};
const std::vector<double> kAboutTwo = {1.99, 2.0, 2.01, 2.0, 1.995, 2.005, 2.0, 1.998};

TEST(TimeScales, OfOneLinkAreNotMixedInAReport) {
  const Records mixed =
      sample::records({scaled_at(1, "none", 1e9, kAboutOne), scaled_at(2, "topk", 1e9, kAboutOne)});
  EXPECT_THAT(input_error([&] { summarize(mixed); }), HasSubstr("time scales 1 and 2"));
  EXPECT_EQ(summarize(at_time_scale(mixed, 2)).groups.at(0).series.size(), 1U);
  EXPECT_THROW(at_time_scale(mixed, 4), InputError);
  // Each link may have its own baseline: compared points lie on one link.
  EXPECT_NO_THROW(summarize(sample::records(
      {scaled_at(1, "none", 1e9, kAboutOne), scaled_at(10, "none", 1e10, kAboutOne)})));
}

TEST(TimeScales, OfStragglersAreThoseOfOtherPoints) {
  Point slowed = scaled_at(4, "none", 1e9, kAboutTwo);
  slowed.axes.stragglers = "host3:compute=2";
  const Records records = sample::records({scaled_at(1, "none", 1e9, kAboutOne), slowed});
  EXPECT_NO_THROW(summarize(records));
  EXPECT_TRUE(compare_time_scales(records).empty());
}

TEST(TimeScales, AreToldOfExceptWhereItIsOne) {
  EXPECT_TRUE(time_scale_notes(sample::records({scaled_at(1, "none", 1e9, kAboutOne)})).empty());
  const auto notes = time_scale_notes(sample::records(
      {scaled_at(1, "none", 1e9, kAboutOne), scaled_at(20, "none", 25e9, kAboutOne)}));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0], HasSubstr("Time scale 20: 4 ranks on rate=25000000000 was measured with "
                                  "time dilation"));
}

ScaleAgreement compared(const std::vector<double>& base, const std::vector<double>& other) {
  const auto agreements = compare_time_scales(
      sample::records({scaled_at(1, "none", 1e9, base), scaled_at(4, "none", 1e9, other)}));
  EXPECT_EQ(agreements.size(), 1U);
  return agreements.at(0);
}

TEST(CompareTimeScales, TellsWhatAgreesFromWhatDoesNot) {
  using Verdict = ScaleAgreement::Verdict;
  const ScaleAgreement same = compared(kAboutOne, kAboutOne);
  EXPECT_EQ(same.verdict, Verdict::kAgree);
  EXPECT_EQ(same.base, 1);
  EXPECT_EQ(same.factor, 4);
  EXPECT_THAT(agreement_sentence(same), HasSubstr("none on rate=1000000000, 4 ranks: 1 s a step at "
                                                  "time scale 4, 1 s at 1: agree"));
  const ScaleAgreement other = compared(kAboutOne, kAboutTwo);
  EXPECT_EQ(other.verdict, Verdict::kDisagree);
  EXPECT_NEAR(other.ratio.value, 2, 1e-9);
  EXPECT_THAT(agreement_sentence(other), HasSubstr("DO NOT AGREE"));
  EXPECT_EQ(compared(kAboutOne, {1, 1, 1}).verdict, Verdict::kTooFew);
  // Less than a hundredth, however significant.
  EXPECT_EQ(compared(std::vector<double>(8, 1.0), std::vector<double>(8, 1.005)).verdict,
            Verdict::kAgree);
}

TEST(CompareTimeScales, TakesOnlyWhatIsTrusted) {
  Point untrusted = scaled_at(4, "none", 1e9, kAboutOne);
  untrusted.status = Status::kInvalid;
  const auto agreements =
      compare_time_scales(sample::records({scaled_at(1, "none", 1e9, kAboutOne), untrusted}));
  ASSERT_EQ(agreements.size(), 1U);
  EXPECT_EQ(agreements[0].verdict, ScaleAgreement::Verdict::kNotTrusted);
}

}  // namespace

}  // namespace thinpipe
