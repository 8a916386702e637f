// Verdicts of the gate, checked against made-up times; the forms in which it reports them.
#include "reports/gate/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/text.h"
#include "reports/gate/measured.h"
#include "tests/base/document.h"
#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Launches = std::vector<std::vector<double>>;

MetricSeries series(const std::string& kind, const std::string& better, Launches launches,
                    const std::string& unit = "s") {
  return {unit, better, kind, std::move(launches)};
}

Measured measured(std::size_t launches) {
  Measured result;
  result.file = "made/records.jsonl";
  result.kind = kBenchKind;
  result.launches = launches;
  return result;
}

/// The two sides of a comparison.
struct Sides {
  explicit Sides(std::size_t launches) : before(measured(launches)), after(measured(launches)) {}

  void add_times(const SeriesName& name, Launches old, Launches now,
                 const std::string& unit = "s") {
    before.series[name] = series("timed", "lower", std::move(old), unit);
    after.series[name] = series("timed", "lower", std::move(now), unit);
  }
  GateOutcome look(const GatePolicy& policy = {}) const {
    return PairedGate(policy).look(before, after);
  }
  GateOutcome stored(Times times) const { return judge_stored(before, after, GatePolicy(), times); }

  Measured before, after;
};

/// Returns one build's measured durations, one per launch, each about exp(shift) seconds. A pair of
/// launches, one of each build, shares one value of `drift`, the machine's noise. Each launch also
/// has noise of its own with standard deviation `noise`; one launch in 20 takes up to e^0.5 times
/// as long, as on a machine with other users. `drift`, `shift` and `noise` are logarithms.
Launches launch_times(std::mt19937_64& generator, const std::vector<double>& drift, double shift,
                      double noise) {
  std::normal_distribution<double> normal(0, noise);
  std::uniform_real_distribution<double> uniform(0, 1);
  Launches launches;
  for (const double common : drift) {
    double logarithm = common + shift + normal(generator);
    if (uniform(generator) < 0.05) logarithm += 0.5 * uniform(generator);
    launches.push_back({std::exp(logarithm)});
  }
  return launches;
}

/// Returns `drift` for launch_times(): one value per launch.
std::vector<double> drifts(std::mt19937_64& generator, std::size_t launches) {
  std::normal_distribution<double> normal(0, 0.1);
  std::vector<double> values(launches);
  for (double& value : values) value = normal(generator);
  return values;
}

const SeriesName kName{"point", "metric"};

Verdict exact(Launches before, Launches after, bool direction_counts = false) {
  return compare_exact(kName, series("exact", "lower", std::move(before), "B"),
                       series("exact", "lower", std::move(after), "B"), direction_counts)
      .verdict;
}

TEST(CompareExact, OneByteMoreIsFound) {
  EXPECT_EQ(exact({{34000, 34000}}, {{34000, 34000}}), Verdict::kSame);
  EXPECT_EQ(exact({{34000, 34000}}, {{34000, 34001}}), Verdict::kWorse);
  EXPECT_EQ(exact({{34000, 34000}}, {{34000, 34001}}, true), Verdict::kWorse);
}

// Compared with a stored baseline, a better value fails too, because it is not equal. Compared with
// an older build, it passes.
TEST(CompareExact, OneByteLess) {
  EXPECT_EQ(exact({{34000}}, {{33999}}), Verdict::kWorse);
  EXPECT_EQ(exact({{34000}}, {{33999}}, true), Verdict::kBetter);
}

TEST(CompareExact, SameMeanOfOtherValuesIsAnotherValue) {
  EXPECT_EQ(exact({{1, 3}}, {{2, 2}}, true), Verdict::kWorse);
  EXPECT_EQ(exact({{1, 3}}, {{1, 3, 2}}, true), Verdict::kWorse);
}

// Values that are not finite are not among the samples. That a metric lost all of them is no
// improvement to 0.
TEST(CompareExact, ValuesThatAreNotFiniteAreAChange) {
  EXPECT_EQ(exact({{5}}, {{}}, true), Verdict::kWorse);
  EXPECT_EQ(exact({{}}, {{5}}, true), Verdict::kWorse);
  EXPECT_EQ(exact({{5}, {5}}, {{5}, {}}, true), Verdict::kWorse);
  EXPECT_EQ(exact({{5}, {5}}, {{}, {5}}, true), Verdict::kWorse);
  EXPECT_EQ(exact({{}}, {{}}, true), Verdict::kSame);
}

MetricComparison quality(Launches before, Launches after) {
  return compare_quality(kName, series("quality", "lower", std::move(before), "1"),
                         series("quality", "lower", std::move(after), "1"), {.margin = 0.01});
}

TEST(CompareQuality, TheWorstLaunchCounts) {
  EXPECT_EQ(quality({{0.5}, {0.5}}, {{0.9}, {0.5}}).verdict, Verdict::kWorse);
  EXPECT_EQ(quality({{0.5}, {0.5}}, {{0.5}, {0.5}}).verdict, Verdict::kSame);
  EXPECT_EQ(quality({{0.5}}, {{0.4}, {0.3}}).verdict, Verdict::kBetter);
}

// Values that are not finite are not among the samples.
TEST(CompareQuality, FewerFiniteValuesAreWorse) {
  const MetricComparison found = quality({{0.5, 0.5, 0.5}}, {{0.5, 0.5}});
  EXPECT_EQ(found.verdict, Verdict::kWorse);
  EXPECT_EQ(found.note, "fewer finite values");
  EXPECT_EQ(quality({{0.5, 0.5}}, {{0.5, 0.5}, {}}).verdict, Verdict::kWorse);
  EXPECT_EQ(quality({{0.5, 0.5}}, {{0.5, 0.5}, {0.5}}).verdict, Verdict::kWorse);
}

TEST(CompareExact, WhatChangesFromLaunchToLaunchIsNotExact) {
  EXPECT_EQ(exact({{1}, {1}}, {{1}, {2}}), Verdict::kWorse);
  EXPECT_EQ(exact({{1}, {2}}, {{2}, {2}}), Verdict::kWorse);
  EXPECT_EQ(exact({{2}, {2}}, {{2}, {2}}), Verdict::kSame);
}

Verdict quality(const std::string& better, double before, double after,
                const GateMargins& margins = {.margin = 0.01}) {
  return compare_quality(kName, series("quality", better, {{before}}, "1"),
                         series("quality", better, {{after}}, "1"), margins)
      .verdict;
}

TEST(CompareQuality, InTheDirectionOfTheMetric) {
  EXPECT_EQ(quality("lower", 0.5, 0.51), Verdict::kWorse);  // 2 %
  EXPECT_EQ(quality("lower", 0.5, 0.504), Verdict::kSame);
  EXPECT_EQ(quality("lower", 0.5, 0.49), Verdict::kBetter);
  EXPECT_EQ(quality("higher", 0.5, 0.49), Verdict::kWorse);
  EXPECT_EQ(quality("higher", 0.5, 0.51), Verdict::kBetter);
}

// k^/k of 1.02 and of 0.98 are equally far from 1.
TEST(CompareQuality, DistanceFromTheTarget) {
  EXPECT_EQ(quality("target:1", 1, 1.02), Verdict::kWorse);
  EXPECT_EQ(quality("target:1", 1, 0.98), Verdict::kWorse);
  EXPECT_EQ(quality("target:1", 1.02, 0.98), Verdict::kSame);
  EXPECT_EQ(quality("target:1", 1.02, 1), Verdict::kBetter);
}

TEST(CompareQuality, FromNothingToSomething) {
  EXPECT_EQ(quality("lower", 0, 0.02), Verdict::kWorse);
  EXPECT_EQ(quality("lower", 0, 0), Verdict::kSame);
  EXPECT_EQ(compare_quality(kName, series("quality", "lower", {{1}}),
                            series("quality", "lower", {{}}), {.margin = 0.01})
                .verdict,
            Verdict::kWorse);
}

TEST(CompareQuality, BoundsOfThePolicy) {
  EXPECT_EQ(quality("target:1", 1, 1.005, {.margin = 0.1, .most = 1.001}), Verdict::kWorse);
  EXPECT_EQ(quality("target:1", 1, 0.995, {.margin = 0.1, .least = 0.999}), Verdict::kWorse);
  EXPECT_EQ(quality("target:1", 1, 0.995, {.margin = 0.1, .least = 0.99}), Verdict::kSame);
}

TEST(PairedDifferences, PairsWithoutATimeAreLeftOut) {
  const std::vector<double> differences =
      paired_differences(series("timed", "lower", {{1}, {}, {0}, {2, 4, 100}}),
                         series("timed", "lower", {{std::exp(1.0)}, {1}, {1}, {4}}));
  ASSERT_EQ(differences.size(), 2U);
  EXPECT_NEAR(differences[0], 1, 1e-12);
  EXPECT_EQ(differences[1], 0);  // the median, not the mean
}

TEST(PairedDifferences, InTurnsValueByValue) {
  // In the third pair the machine was busy with other work. This pair moves one side's median far.
  const MetricSeries before = series("timed", "lower", {{1, 2, 3, 4, 5}});
  const MetricSeries after = series("timed", "lower", {{1.1, 2.2, 30, 4.4, 5.5}});
  EXPECT_NEAR(paired_differences(before, after, true).at(0), std::log(1.1), 1e-12);
  EXPECT_NEAR(paired_differences(before, after).at(0), std::log(4.4 / 3), 1e-12);
  // Values are paired only if both sides have equally many; otherwise the medians are compared.
  const MetricSeries fewer = series("timed", "lower", {{6, 6}});
  EXPECT_NEAR(paired_differences(before, fewer, true).at(0), std::log(2.0), 1e-12);
}

constexpr double kNoise = 0.02;  // standard deviation of the logarithm of a launch's time

Verdict only_verdict(const GateOutcome& outcome) {
  EXPECT_EQ(outcome.comparisons.size(), 1U);
  return outcome.comparisons.at(0).verdict;
}

Measured first_launches(const Measured& all, std::size_t launches) {
  Measured some = all;
  some.launches = launches;
  for (auto& [name, one] : some.series) one.launches.resize(launches);
  return some;
}

/// Lets the gate look until no verdict is unclear, at most `policy.looks` times. Returns the last
/// outcome.
GateOutcome whole_gate(const Measured& before, const Measured& after, const GatePolicy& policy) {
  PairedGate gate(policy);
  GateOutcome outcome;
  for (int look = 0; look < policy.looks; ++look) {
    const auto pairs = static_cast<std::size_t>(policy.pairs << look);
    outcome = gate.look(first_launches(before, pairs), first_launches(after, pairs));
    if (outcome.count(Verdict::kUnclear) == 0) break;
  }
  return outcome;
}

/// Returns the gate's outcome for two builds, each with `metrics` timed metrics. The builds differ
/// in the first metric only: the logarithm of the second build's time is greater by `shift`.
GateOutcome simulated(std::mt19937_64& generator, int metrics, double shift,
                      double noise = kNoise) {
  const GatePolicy policy;
  const auto most = static_cast<std::size_t>(policy.most_pairs());
  Sides sides(most);
  for (int i = 0; i < metrics; ++i) {
    const std::vector<double> drift = drifts(generator, most);
    Launches old = launch_times(generator, drift, 0, noise);
    sides.add_times({"point" + std::to_string(i), "encode_time"}, std::move(old),
                    launch_times(generator, drift, i == 0 ? shift : 0, noise));
  }
  return whole_gate(sides.before, sides.after, policy);
}

TEST(PairedGate, TwoThatAreTheSameRaiseNoAlarm) {
  std::mt19937_64 generator(1);
  int alarms = 0, unclear = 0;
  for (int i = 0; i < 200; ++i) {
    const GateOutcome noisy = simulated(generator, 10, 0);
    alarms += noisy.count(Verdict::kWorse) > 0 || noisy.count(Verdict::kBetter) > 0;
    unclear += simulated(generator, 10, 0, kNoise / 2).count(Verdict::kUnclear) > 0;
  }
  EXPECT_LE(alarms, 2);    // 1 % of gates
  EXPECT_LE(unclear, 20);  // with times less noisy, gates end with an answer
}

TEST(PairedGate, FivePercentAreFound) {
  std::mt19937_64 generator(2);
  int found = 0, wrong = 0;
  for (int i = 0; i < 100; ++i) {
    const GateOutcome outcome = simulated(generator, 10, std::log(1.05));
    const MetricComparison& worst = outcome.comparisons.front();
    found += worst.verdict == Verdict::kWorse && worst.name.first == "point0";
    wrong += outcome.count(Verdict::kWorse) > 1;
  }
  EXPECT_GE(found, 85);  // with more gates 2668 of 3000
  EXPECT_LE(wrong, 2);
}

TEST(PairedGate, FasterIsBetterAndPasses) {
  std::mt19937_64 generator(3);
  const GateOutcome outcome = simulated(generator, 1, std::log(0.8));
  EXPECT_EQ(only_verdict(outcome), Verdict::kBetter);
  EXPECT_LT(outcome.comparisons[0].change, -0.15);
  EXPECT_EQ(exit_code(outcome, true), 0);
}

// Higher is better: a bandwidth that halves is worse, and its change is positive.
TEST(PairedGate, DirectionOfTheMetricCounts) {
  Sides sides(10);
  const SeriesName name{"point", "bus_bandwidth"};
  sides.before.series[name] = series("timed", "higher", Launches(10, {2e8}), "bit/s");
  sides.after.series[name] = series("timed", "higher", Launches(10, {1e8}), "bit/s");
  const GateOutcome outcome = sides.look();
  EXPECT_EQ(only_verdict(outcome), Verdict::kWorse);
  EXPECT_NEAR(outcome.comparisons[0].change, 1, 1e-9);  // takes twice as long for the same bytes
  EXPECT_EQ(exit_code(outcome, false), 1);
}

/// Returns launches of which each takes `step` longer than the one before.
Launches rising(std::size_t count, double first, double step) {
  Launches launches;
  for (std::size_t i = 0; i < count; ++i)
    launches.push_back({first + step * static_cast<double>(i)});
  return launches;
}

TEST(PairedGate, WithinTheMarginIsTheSameHoweverSure) {
  Sides sides(20);
  sides.add_times({"point", "encode_time"}, rising(20, 1, 1e-6), rising(20, 1.015, 1.015e-6));
  EXPECT_EQ(only_verdict(sides.look()), Verdict::kSame);
  GatePolicy strict;
  strict.margin = 0.01;
  EXPECT_EQ(only_verdict(sides.look(strict)), Verdict::kWorse);
}

TEST(PairedGate, TooLittleIsUnclearNotTheSame) {
  Sides sides(3);
  sides.add_times({"point", "encode_time"}, {{1}, {1}, {1}}, {{9}, {9}, {9}});
  const GateOutcome outcome = sides.look();
  EXPECT_EQ(only_verdict(outcome), Verdict::kUnclear);
  EXPECT_EQ(exit_code(outcome, false), 0);
  EXPECT_EQ(exit_code(outcome, true), 3);
}

// Without a difference, all of n pairs lie on one given side with probability 2^-n, and on either
// side with 2^(1-n): 0.031 for six pairs, 0.0156 for seven. The gate looks three times, and each
// look may use a probability of 0.05 / 3 = 0.0167.
TEST(PairedGate, TellsApartBySevenPairsOfSevenAndNotBySixOfSix) {
  const auto verdict_of = [](std::size_t pairs) {
    Sides sides(pairs);
    sides.add_times({"point", "encode_time"}, rising(pairs, 1, 1e-3), rising(pairs, 2, 1e-2));
    return only_verdict(sides.look());
  };
  EXPECT_EQ(verdict_of(6), Verdict::kUnclear);
  EXPECT_EQ(verdict_of(7), Verdict::kWorse);
}

TEST(PairedGate, WhatWasToldApartStaysSo) {
  std::mt19937_64 generator(5);
  const std::vector<double> drift = drifts(generator, 40);
  Launches old = launch_times(generator, drift, 0, kNoise);
  Sides sides(40);
  sides.add_times({"point", "encode_time"}, old, launch_times(generator, drift, 0.2, kNoise));
  PairedGate gate{GatePolicy()};
  EXPECT_EQ(
      only_verdict(gate.look(first_launches(sides.before, 10), first_launches(sides.after, 10))),
      Verdict::kWorse);
  EXPECT_EQ(only_verdict(gate.look(sides.before, sides.before)), Verdict::kWorse);
}

// A gate that compares nothing must not pass: the mutation that every comparator has to fail.
TEST(Gate, NothingComparedIsNoPass) {
  EXPECT_EQ(exit_code(Sides(10).look(), false), 5);
  GatePolicy ignores_all;
  ignores_all.rules.push_back({.ignore = true});
  Measured side = measured(10);
  side.series[{"point", "encode_time"}] = series("timed", "lower", {{1}});
  EXPECT_EQ(exit_code(PairedGate(ignores_all).look(side, side), false), 5);
}

TEST(Gate, NamesThatOneSideHasAreNeverSilent) {
  Sides sides(1);
  const MetricSeries one = series("exact", "lower", {{1}}, "1");
  sides.before.series = {{{"kept", "passes"}, one}, {{"gone", "passes"}, one}};
  sides.after.series = {{{"kept", "passes"}, one}, {{"kept", "new"}, one}};
  const GateOutcome outcome = sides.look();
  EXPECT_EQ(outcome.missing, (std::vector<std::string>{"in the baseline only: point gone",
                                                       "not in the baseline: new of kept"}));
  EXPECT_EQ(exit_code(outcome, false), 5);
}

// The baseline wrote the point's defaults out, or the new run did; or its normal id is unknown, as
// in older records.
TEST(StoredGate, APointIsTheSameHoweverItsSpecIsWritten) {
  struct Case {
    std::string old, old_normal, now;
  };
  const MetricSeries one = series("exact", "lower", {{1}}, "1");
  for (const auto& [old, old_normal, now] :
       {Case{"topk", "topk", "topk:ratio=0.01"}, Case{"topk", "", "topk:ratio=0.01"},
        Case{"topk:ratio=0.01", "topk", "topk"}, Case{"topk:ratio=0.01", "", "topk:ratio=0.01"}}) {
    Sides sides(1);
    sides.before.series[{old, "passes"}] = sides.after.series[{now, "passes"}] = one;
    if (!old_normal.empty()) sides.before.normal_ids[old] = old_normal;
    sides.after.normal_ids[now] = "topk";
    for (const GateOutcome& outcome : {sides.stored(Times::kNone), sides.look()}) {
      EXPECT_TRUE(outcome.missing.empty()) << old << " and " << now;
      ASSERT_EQ(outcome.comparisons.size(), 1U);
      EXPECT_EQ(outcome.comparisons[0].verdict, Verdict::kSame);
      EXPECT_EQ(outcome.comparisons[0].name.first, now);
    }
  }
  Sides sides(1);
  sides.before.not_good["topk"] = "invalid: the machine was busy";
  sides.after.series[{"topk:ratio=0.01", "passes"}] = one;
  sides.after.normal_ids["topk:ratio=0.01"] = "topk";
  EXPECT_EQ(sides.stored(Times::kNone).missing,
            (std::vector<std::string>{
                "in the baseline topk:ratio=0.01 was invalid: the machine was busy"}));
}

TEST(Gate, AFailedPointIsAFailureNotAGap) {
  Sides sides(1);
  sides.before.series[{"point", "passes"}] = series("exact", "lower", {{1}}, "1");
  sides.after.not_good["point"] = "failed: decoded is not what was encoded";
  const GateOutcome outcome = sides.look();
  EXPECT_TRUE(outcome.missing.empty());
  EXPECT_EQ(outcome.failed,
            (std::vector<std::string>{"point: failed: decoded is not what was encoded"}));
  EXPECT_EQ(exit_code(outcome, false), 4);
}

TEST(Gate, RecordsOfAnotherKindAreRefused) {
  Sides sides(1);
  sides.after.kind = kRunKind;
  EXPECT_THROW(sides.look(), InputError);
}

TEST(StoredGate, RatiosTravelSecondsDoNot) {
  std::mt19937_64 generator(7);
  Sides sides(10);
  const std::vector<double> none(10, 0.0);
  for (const char* unit : {"s", "1"}) {
    Launches old = launch_times(generator, none, 0, 0.01);
    sides.add_times({"point", std::string("encode_in_") + unit}, std::move(old),
                    launch_times(generator, none, 0.3, 0.01), unit);
  }
  sides.before.header.fingerprint = document({{"cpu", "A"}});
  sides.after.header.fingerprint = document({{"cpu", "B"}});
  const GateOutcome ratios = sides.stored(Times::kRatios);
  EXPECT_EQ(only_verdict(ratios), Verdict::kWorse);
  EXPECT_EQ(ratios.comparisons[0].unit, "1");
  EXPECT_EQ(exit_code(ratios, false), 1);
  const GateOutcome all = sides.stored(Times::kAll);
  EXPECT_EQ(
      all.missing,
      (std::vector<std::string>{"another machine than the baseline's: cpu: \"A\" against \"B\""}));
  EXPECT_EQ(exit_code(all, false), 5);
  sides.after.header.fingerprint = sides.before.header.fingerprint;
  EXPECT_EQ(sides.stored(Times::kAll).comparisons.size(), 2U);
  sides.before.header.simd = "avx2";
  sides.after.header.simd = "sse4";
  EXPECT_EQ(exit_code(sides.stored(Times::kRatios), false), 1);
  EXPECT_EQ(sides.stored(Times::kAll).missing,
            (std::vector<std::string>{
                "another machine than the baseline's: simd: \"avx2\" against \"sse4\""}));
}

TEST(GateText, HasNoPercentageOf0) {
  MetricComparison comparison = compare_exact(kName, series("exact", "lower", {{0}}, "1"),
                                              series("exact", "lower", {{3}}, "1"),
                                              /*direction_counts=*/true);
  EXPECT_EQ(comparison.verdict, Verdict::kWorse);
  EXPECT_EQ(change_text(comparison), "changed");
  comparison.change = 0;
  EXPECT_EQ(change_text(comparison), "+0.00 %");
}

TEST(GateText, IsAtMost80ColumnsWideExceptForIds) {
  const std::string id = "topk:memory=residual,ratio=0.01/" + std::string(80, 'x');
  const std::string note(30, 'y');
  GateOutcome outcome;
  outcome.comparisons.push_back({.name = {id, "encode_time"},
                                 .unit = "s",
                                 .better = "lower",
                                 .kind = "timed",
                                 .verdict = Verdict::kWorse,
                                 .note = note + " " + note + " " + note});
  outcome.missing = {note + " " + note + " " + note};
  outcome.failed = {id + ": " + note + " " + note + " " + note};
  for (const std::string& line : split(gate_text(outcome, true), '\n'))
    if (line.find(id) == std::string::npos) {
      EXPECT_LE(line.size(), 80U) << line;
    } else {
      EXPECT_LE(line.size(), id.size() + 9) << line;
    }
}

TEST(StoredGate, RecordsOfAnotherTraceOrOtherSettingsAreNotComparable) {
  Sides sides(1);
  sides.add_times({"point", "encode_over_read"}, {{1}}, {{1}}, "1");
  Header &before = sides.before.header, &after = sides.after.header;
  before.trace = document({{"identity", "A"}});
  after.trace = document({{"identity", "B"}});
  before.settings = document({{"steps", 8}, {"warmup", 2}});
  after.settings = document({{"steps", 16}, {"compute", "work"}});  // no warm-up: an older record
  before.seed = 1;
  after.seed = 2;
  const GateOutcome outcome = sides.stored(Times::kNone);
  EXPECT_EQ(outcome.missing,
            (std::vector<std::string>{
                "other settings than the baseline: trace: \"A\" against \"B\"",
                "other settings than the baseline: compute: \"wait\" against \"work\"",
                "other settings than the baseline: seed: 1 against 2",
                "other settings than the baseline: steps: 8 against 16"}));
  EXPECT_EQ(exit_code(outcome, false), 5);
}

TEST(StoredGate, LaunchesOfOneSideHaveTheSameSettings) {
  const auto with_seed = [](std::uint64_t seed) {
    Measured launch = measured(1);
    launch.header.seed = seed;
    launch.series[{"point", "bytes"}] = series("exact", "lower", {{1}}, "B");
    return launch;
  };
  Measured before = with_seed(1), after = with_seed(2);
  append_launches(after, with_seed(1));
  const GateOutcome outcome = judge_stored(before, after, GatePolicy(), Times::kNone);
  EXPECT_EQ(outcome.missing, (std::vector<std::string>{
                                 "made/records.jsonl has launches of several settings: seed: 2 "
                                 "against 1"}));
  EXPECT_EQ(exit_code(outcome, false), 5);
  before.kind = after.kind = kJobKind;  // jobs of one file may differ
  EXPECT_EQ(judge_stored(before, after, GatePolicy(), Times::kNone).missing,
            std::vector<std::string>{});
}

TEST(StoredGate, ABaselineOfOneLaunchSaysNothingOfTimes) {
  Sides sides(10);
  sides.before.launches = 1;
  sides.add_times({"point", "encode_over_read"}, {{1, 1, 1, 1}}, Launches(10, {1}), "1");
  const GateOutcome outcome = sides.stored(Times::kRatios);
  ASSERT_EQ(outcome.missing.size(), 1U);
  EXPECT_THAT(outcome.missing[0], HasSubstr("1 launches"));
  EXPECT_EQ(exit_code(outcome, false), 5);
}

// With 4 launches a side, the least p-value of a time is 2 / C(8, 4) = 0.029: above 0.05 / 6.
TEST(StoredGate, SaysHowManyLaunchesTellAChange) {
  const auto gate = [](std::size_t launches) {
    Sides sides(launches);
    for (int metric = 0; metric < 6; ++metric) {
      Launches old, now;
      for (std::size_t i = 0; i < launches; ++i) {
        const double time = 1 + 0.001 * static_cast<double>(i);
        old.push_back({time});
        now.push_back({metric == 0 ? 5 * time : time});
      }
      sides.add_times({"point" + std::to_string(metric), "time"}, old, now, "1");
    }
    return sides.stored(Times::kRatios);
  };
  const GateOutcome few = gate(4);
  EXPECT_EQ(few.count(Verdict::kWorse), 0U);
  EXPECT_THAT(few.comparisons[0].note, HasSubstr("5 a side can tell a change of one in 6"));
  EXPECT_EQ(gate(5).count(Verdict::kWorse), 1U);
}

TEST(StoredGate, TwoThatAreTheSameRaiseNoAlarm) {
  std::mt19937_64 generator(9);
  int alarms = 0;
  const std::vector<double> none(10, 0.0);
  for (int i = 0; i < 200; ++i) {
    Sides sides(10);
    for (int metric = 0; metric < 10; ++metric) {
      Launches old = launch_times(generator, none, 0, 0.05);
      sides.add_times({"point" + std::to_string(metric), "encode_over_read"}, std::move(old),
                      launch_times(generator, none, 0, 0.05), "1");
    }
    alarms += sides.stored(Times::kRatios).count(Verdict::kWorse) > 0;
  }
  EXPECT_LE(alarms, 2);
}

constexpr const char* kHostileName = "<b>&\"' | % \n ::error::";

GateOutcome sample_outcome() {
  Sides sides(10);
  const Launches second(10, {1.0}), slower(10, {1.25}), faster(10, {0.5});
  sides.add_times({"a/" + std::string(kHostileName), "encode_time"}, second, slower);
  sides.add_times({"b", "encode_time"}, second, faster);
  const MetricSeries passes = series("exact", "lower", second, "1");
  sides.before.series[{"b", "passes"}] = passes;
  sides.after.series[{"b", "passes"}] = passes;
  sides.before.series[{"gone", "passes"}] = passes;
  return sides.look();
}

TEST(GateOutput, SentenceNamesTheWorst) {
  EXPECT_EQ(gate_sentence(sample_outcome()),
            "Of 3 metrics: 1 worse, 1 better, 1 the same, 1 not comparable. The worst: encode_time "
            "of a/" +
                std::string(kHostileName) + ", +25.00 % (+25.00 to +25.00).");
  EXPECT_EQ(gate_sentence(GateOutcome()), "Nothing was compared.");
}

TEST(GateOutput, TextLeavesOutWhatIsTheSame) {
  EXPECT_THAT(gate_text(sample_outcome(), false), Not(HasSubstr("passes\n")));
  EXPECT_THAT(gate_text(sample_outcome(), true), HasSubstr("passes\n"));
}

TEST(GateOutput, JunitIsWellFormedAndCounts) {
  const std::string xml = gate_junit(sample_outcome());
  EXPECT_EQ(sample::check_markup(xml.substr(xml.find('\n') + 1)).error, "");
  EXPECT_THAT(xml, HasSubstr("tests=\"4\" failures=\"1\" errors=\"1\" skipped=\"0\""));
}

TEST(GateOutput, MarkdownFitsWhateverThereIs) {
  GateOutcome outcome = sample_outcome();
  const MetricComparison one = outcome.comparisons[0];
  for (int i = 0; i < 20000; ++i) outcome.comparisons.push_back(one);
  const std::string text = gate_markdown(outcome);
  EXPECT_LE(text.size(), kLongestSummary);
  EXPECT_GT(text.size(), kLongestSummary * 9 / 10);
  EXPECT_THAT(text, AllOf(HasSubstr("more lines."), Not(HasSubstr("<b>"))));
}

TEST(GateOutput, OneAnnotationOnOneLine) {
  const std::string annotation = gate_annotation(sample_outcome());
  EXPECT_TRUE(annotation.starts_with("::error title=thinpipe gate::encode_time of a/"));
  EXPECT_EQ(std::count(annotation.begin(), annotation.end(), '\n'), 1);
  EXPECT_THAT(annotation, AllOf(HasSubstr("%0A"), HasSubstr("%25")));
  GateOutcome good = sample_outcome();
  good.missing.clear();
  good.comparisons.erase(good.comparisons.begin());
  EXPECT_EQ(gate_annotation(good), "");
  EXPECT_NE(gate_annotation(GateOutcome()), "");
}

TEST(GateOutput, JsonSaysWhatWasFound) {
  const nlohmann::json json = gate_json(sample_outcome());
  EXPECT_EQ(json["worse"], 1);
  EXPECT_EQ(json["comparisons"][0]["verdict"], "worse");
  EXPECT_NEAR(json["comparisons"][0]["change"].get<double>(), 0.25, 1e-9);
  EXPECT_EQ(json["missing"].size(), 1U);
}

}  // namespace

}  // namespace thinpipe
