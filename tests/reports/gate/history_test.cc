// Histories of a gate's metrics, and the policy that a file sets.
#include "reports/gate/history.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <random>

#include "base/error.h"
#include "reports/gate/gate.h"
#include "tests/base/support.h"
#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

constexpr double kMargin = 0.1;

std::vector<double> noisy(std::mt19937_64& generator, std::size_t count, double level) {
  std::normal_distribution<double> normal(0, 0.03);
  std::vector<double> values(count);
  for (double& value : values) value = level * (1 + normal(generator));
  return values;
}

TEST(Standing, NothingWithoutEnoughBefore) {
  EXPECT_FALSE(standing({}, kMargin));
  EXPECT_FALSE(standing({1, 1, 1, 1, 1}, kMargin));
  EXPECT_TRUE(standing({1, 1, 1, 1, 1, 1}, kMargin));
}

// Five values 1, 1.1, 0.9, 1.2, 0.8: median 1, distances 0, .1, .1, .2, .2, MAD 0.1.
TEST(Standing, ByHand) {
  const auto found = standing({1, 1.1, 0.9, 1.2, 0.8, 2}, kMargin);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->typical, 1);
  EXPECT_DOUBLE_EQ(found->change, 1);
  EXPECT_NEAR(found->z, 1 / (1.4826 * 0.1 * std::sqrt(1.2)), 1e-9);
}

TEST(Standing, OneWildValueIsNoStep) {
  std::mt19937_64 generator(1);
  std::vector<double> values = noisy(generator, 20, 1);
  values.push_back(2);
  EXPECT_GT(standing(values, kMargin)->z, kOutlyingZ);
  for (const double value : noisy(generator, 5, 1)) values.push_back(value);
  const auto found = standing(values, kMargin);
  EXPECT_LT(found->z, kOutlyingZ);
  EXPECT_EQ(found->since, 0U);
}

TEST(Standing, ThreeInARowAreAStepFromWhichItGoesOn) {
  std::mt19937_64 generator(2);
  std::vector<double> values = noisy(generator, 20, 1);
  for (const double value : noisy(generator, 12, 1.5)) values.push_back(value);
  const auto found = standing(values, kMargin);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->since, 20U);
  EXPECT_NEAR(found->typical, 1.5, 0.05);
  EXPECT_LT(found->z, kOutlyingZ);
  values.push_back(1);  // back to its value of long ago: outlying now
  EXPECT_GT(standing(values, kMargin)->z, kOutlyingZ);
}

TEST(Standing, EqualValuesAndAnotherOne) {
  EXPECT_EQ(standing({2, 2, 2, 2, 2, 2}, kMargin)->z, 0);
  const auto found = standing({2, 2, 2, 2, 2, 2.5}, kMargin);
  EXPECT_TRUE(std::isinf(found->z));
  EXPECT_DOUBLE_EQ(found->change, 0.25);
}

// Over many histories without a change hardly one newest value is called an outlier.
TEST(Standing, RarelyCriesWolf) {
  std::mt19937_64 generator(3);
  int alarms = 0;
  for (int i = 0; i < 1000; ++i) {
    const auto found = standing(noisy(generator, 20, 1), kMargin);
    alarms += found && is_outlying(*found, kMargin);
  }
  EXPECT_LE(alarms, 10);
}

TEST(Sparkline, FromLowToHigh) {
  EXPECT_EQ(sparkline({0, 1, 2, 3, 4, 5, 6, 7}, 40), "▁▂▃▄▅▆▇█");
  EXPECT_EQ(sparkline({0, 1, 2, 3}, 2), "▁█");
  EXPECT_EQ(sparkline({5, 5}, 40), "▁▁");
  EXPECT_EQ(sparkline({}, 40), "");
}

class HistoryFolder : public ::testing::Test {
 protected:
  void add(const std::string& name, const std::string& created, double step_time, double bytes,
           const std::string& cpu = "A", const std::string& trace = "sha256:00") {
    Header header = sample::header();
    header.created = created;
    header.trace = document({{"identity", trace}});
    header.fingerprint = document({{"cpu", cpu}});
    Point point = sample::point("topk", 1e8, 0, {step_time});
    point.metrics = {{"step_time", {"s", "lower", "timed", {step_time}}},
                     {"payload_bytes", {"B", "lower", "exact", {bytes}}}};
    write_bytes(folder_.path() / "deep" / (name + ".jsonl"),
                header_json(header).dump() + "\n" + point_json(point).dump() + "\n");
  }
  void add_seven(double last_time, double last_bytes) {
    for (int day = 1; day <= 6; ++day)
      add("day" + std::to_string(7 - day), "2026-01-0" + std::to_string(day) + "T00:00:00Z",
          0.1 + 0.001 * (day % 3), 34000);
    add("day0", "2026-01-07T00:00:00Z", last_time, last_bytes);
  }
  TemporaryFolder folder_;
};

TEST_F(HistoryFolder, IsReadInTheOrderOfCreation) {
  add_seven(0.1, 34000);
  const History history = read_history(folder_.path());
  EXPECT_EQ(history.launches, 7U);
  const HistorySeries& series = history.series.begin()->second;
  ASSERT_EQ(series.entries.size(), 7U);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(series.entries[i].launch, i);
  EXPECT_EQ(exit_code(judge_history(history, GatePolicy()), true), 0);
}

TEST_F(HistoryFolder, APolicysBoundsCount) {
  for (int day = 1; day <= 7; ++day) {
    Header header = sample::header();
    header.created = "2026-01-0" + std::to_string(day) + "T00:00:00Z";
    Point point = sample::point("topk", 1e8, 0, {0.1});
    point.metrics = {{"quality", {"1", "target:1", "quality", {0.5}}}};
    write_bytes(folder_.path() / (std::to_string(day) + ".jsonl"),
                header_json(header).dump() + "\n" + point_json(point).dump() + "\n");
  }
  const History history = read_history(folder_.path());
  EXPECT_EQ(judge_history(history, GatePolicy()).count(Verdict::kWorse), 0U);
  const GateOutcome bounded =
      judge_history(history, parse_policy("[quality]\nleast = 0.9\n", "policy.ini"));
  ASSERT_EQ(bounded.count(Verdict::kWorse), 1U);
  EXPECT_EQ(bounded.comparisons[0].note, "below the policy's minimum");
}

// A change for the worse is positive, whichever way the value moved: 0.5 is farther from k^/k = 1
// than 0.9 by 44 % of 0.9, and 0.6 is worse than a cosine of 0.8 by 25 %.
TEST_F(HistoryFolder, AChangeForTheWorseIsPositive) {
  for (int day = 1; day <= 7; ++day) {
    Header header = sample::header();
    header.created = "2026-01-0" + std::to_string(day) + "T00:00:00Z";
    Point point = sample::point("topk", 1e8, 0, {0.1});
    point.metrics = {{"quality", {"1", "target:1", "quality", {day < 7 ? 0.9 : 0.5}}},
                     {"cosine", {"1", "higher", "quality", {day < 7 ? 0.8 : 0.6}}},
                     {"top_k_overlap", {"1", "higher", "quality", {day < 7 ? 0.5 : 0.6}}}};
    write_bytes(folder_.path() / (std::to_string(day) + ".jsonl"),
                header_json(header).dump() + "\n" + point_json(point).dump() + "\n");
  }
  const GateOutcome outcome = judge_history(read_history(folder_.path()), GatePolicy());
  ASSERT_EQ(outcome.comparisons.size(), 3U);
  EXPECT_EQ(outcome.comparisons[0].name.second, "quality");  // worst first
  EXPECT_EQ(outcome.comparisons[0].verdict, Verdict::kWorse);
  EXPECT_NEAR(outcome.comparisons[0].change, 4. / 9, 1e-12);
  EXPECT_EQ(outcome.comparisons[1].verdict, Verdict::kWorse);
  EXPECT_NEAR(outcome.comparisons[1].change, 0.25, 1e-12);
  EXPECT_EQ(outcome.comparisons[2].verdict, Verdict::kBetter);
  EXPECT_NEAR(outcome.comparisons[2].change, -0.2, 1e-12);
}

TEST_F(HistoryFolder, ASlowerNewestIsWorse) {
  add_seven(0.15, 34000);
  const GateOutcome outcome = judge_history(read_history(folder_.path()), GatePolicy());
  ASSERT_EQ(outcome.count(Verdict::kWorse), 1U);
  EXPECT_EQ(outcome.comparisons[0].name.second, "step_time");
  EXPECT_NEAR(outcome.comparisons[0].change, 0.485, 0.01);
}

TEST_F(HistoryFolder, OneByteMoreIsWorse) {
  add_seven(0.1, 34001);
  const GateOutcome outcome = judge_history(read_history(folder_.path()), GatePolicy());
  ASSERT_EQ(outcome.count(Verdict::kWorse), 1U);
  EXPECT_EQ(outcome.comparisons[0].name.second, "payload_bytes");
}

TEST_F(HistoryFolder, SecondsOfOtherMachinesDoNotCount) {
  add_seven(0.15, 34000);
  for (int day = 1; day <= 6; ++day)
    add("day" + std::to_string(7 - day), "2026-01-0" + std::to_string(day) + "T00:00:00Z", 0.1,
        34000, "B");
  const History history = read_history(folder_.path());
  for (const auto& [name, series] : history.series)
    EXPECT_EQ(series.entries.size(), name.second == "step_time" ? 1U : 7U) << name.second;
  EXPECT_EQ(history.notes,
            std::vector<std::string>{
                "6 launches of another machine than the newest: times in seconds skipped"});
}

// Payloads of another trace are neither worse nor better. The launch before the newest one is the
// last one of its trace.
TEST_F(HistoryFolder, OnlyLaunchesOfOneTraceAreCompared) {
  add_seven(0.1, 34000);
  add("other", "2026-01-06T12:00:00Z", 0.2, 68000, "A", "sha256:11");
  const History history = read_history(folder_.path());
  EXPECT_EQ(history.launches, 8U);
  for (const auto& [name, series] : history.series) EXPECT_EQ(series.entries.size(), 7U);
  EXPECT_EQ(history.notes,
            std::vector<std::string>{"1 launch not compared with the newest: trace: \"sha256:11\" "
                                     "against \"sha256:00\""});
  EXPECT_EQ(exit_code(judge_history(history, GatePolicy()), true), 0);
}

// The metrics of another trace are not missing in the newest launch, but drawn by themselves.
TEST_F(HistoryFolder, LaunchesOfAnotherTraceHaveAHistoryOfTheirOwn) {
  add_seven(0.1, 34000);
  Header header = sample::header();
  header.trace = document({{"identity", "sha256:11"}});
  for (const char* created : {"2026-01-06T12:00:00Z", "2026-01-06T13:00:00Z"}) {
    header.created = created;
    Point point = sample::point("topk", 1e8, 0, {0.1});
    point.id = "other";
    point.metrics = {{"payload_bytes", {"B", "lower", "exact", {1}}}};
    write_bytes(folder_.path() / (std::string(created) + ".jsonl"),
                header_json(header).dump() + "\n" + point_json(point).dump() + "\n");
  }
  const History history = read_history(folder_.path());
  EXPECT_EQ(history.series.at({"other", "payload_bytes"}).entries.size(), 2U);
  EXPECT_TRUE(judge_history(history, GatePolicy()).missing.empty());
}

// The newest launch was interrupted, and measured its other point after `--resume`.
TEST_F(HistoryFolder, ALaunchAndItsRestAreOne) {
  add_seven(0.1, 34000);
  Header header = sample::header();
  header.trace = document({{"identity", "sha256:00"}});
  header.fingerprint = document({{"cpu", "A"}});
  const auto one = [&](const std::string& created, const std::string& id, double bytes) {
    header.created = created;
    Point point = sample::point("topk", 1e8, 0, {0.1});
    if (!id.empty()) point.id = id;
    point.metrics = {{"payload_bytes", {"B", "lower", "exact", {bytes}}}};
    return header_json(header).dump() + "\n" + point_json(point).dump() + "\n";
  };
  write_bytes(folder_.path() / "resumed.jsonl",
              one("2026-01-08T00:00:00Z", "", 34000) + one("2026-01-08T01:00:00Z", "other", 1));
  History history = read_history(folder_.path());
  EXPECT_EQ(history.launches, 8U);
  EXPECT_EQ(exit_code(judge_history(history, GatePolicy()), false), 5);  // step_time is missing
  EXPECT_EQ(judge_history(history, GatePolicy()).missing.size(), 1U);

  // The same point twice: two launches.
  write_bytes(folder_.path() / "resumed.jsonl",
              one("2026-01-08T00:00:00Z", "", 34000) + one("2026-01-08T01:00:00Z", "", 34001));
  history = read_history(folder_.path());
  EXPECT_EQ(history.launches, 9U);
}

TEST_F(HistoryFolder, APointIsTheSameHoweverItsSpecIsWritten) {
  add_seven(0.1, 34000);
  Header header = sample::header();
  header.created = "2026-01-08T00:00:00Z";
  header.trace = document({{"identity", "sha256:00"}});
  header.fingerprint = document({{"cpu", "A"}});
  Point point = sample::point("topk:ratio=0.01", 1e8, 0, {0.1});
  point.normal_id = sample::point("topk", 1e8, 0, {}).id;
  point.metrics["payload_bytes"] = {"B", "lower", "exact", {34000}};
  write_bytes(folder_.path() / "newest.jsonl",
              header_json(header).dump() + "\n" + point_json(point).dump() + "\n");
  const History history = read_history(folder_.path());
  EXPECT_EQ(history.launches, 8U);
  EXPECT_EQ(history.series.size(), 2U);
  EXPECT_EQ(history.series.at({point.id, "payload_bytes"}).entries.size(), 8U);
  EXPECT_EQ(exit_code(judge_history(history, GatePolicy()), true), 0);
}

// A metric's rule is that of the newest record.
TEST_F(HistoryFolder, AMetricIsWhatTheNewestLaunchSays) {
  add_seven(0.1, 34000);
  Header header = sample::header();
  header.created = "2026-01-08T00:00:00Z";
  header.trace = document({{"identity", "sha256:00"}});
  header.fingerprint = document({{"cpu", "A"}});
  Point point = sample::point("topk", 1e8, 0, {0.1});
  point.metrics = {{"payload_bytes", {"B", "higher", "quality", {34000}}}};
  write_bytes(folder_.path() / "newest.jsonl",
              header_json(header).dump() + "\n" + point_json(point).dump() + "\n");
  const History history = read_history(folder_.path());
  const HistorySeries& series = history.series.at({point.id, "payload_bytes"});
  EXPECT_EQ(series.kind, "quality");
  EXPECT_EQ(series.better, "higher");
}

TEST_F(HistoryFolder, OtherKindsAreToldAndPassedOver) {
  add_seven(0.1, 34000);
  Header header = sample::header();
  header.kind = kBenchKind;
  header.created = "2026-01-03T12:00:00Z";
  std::ofstream(folder_.path() / "bench.jsonl") << header_json(header).dump() << "\n";
  const History history = read_history(folder_.path());
  EXPECT_EQ(history.launches, 7U);
  EXPECT_EQ(history.origins.size(), 7U);
  EXPECT_EQ(history.notes,
            std::vector<std::string>{"1 launch skipped: not of 'run' as the newest launch"});
}

TEST_F(HistoryFolder, FilesThatAreNoRecordsAreToldAndPassedOver) {
  add_seven(0.1, 34000);
  std::ofstream(folder_.path() / "other.jsonl") << "{\"a\": 1}\n";
  const History history = read_history(folder_.path());
  EXPECT_EQ(history.launches, 7U);
  ASSERT_EQ(history.notes.size(), 1U);
  EXPECT_NE(history.notes[0].find("other.jsonl"), std::string::npos);
}

TEST_F(HistoryFolder, WhatIsNotThereIsAnError) {
  EXPECT_THROW(read_history(folder_.path() / "nowhere"), InputError);
  EXPECT_THROW(read_history(folder_.path()), InputError);
}

TEST(GatePolicyFile, GeneralAndByMetric) {
  const GatePolicy policy = parse_policy(
      "# how strict we are\n"
      "[gate]\r\n"
      "margin = 3%\n"
      "alpha=0.01\n"
      "pairs = 12\n"
      "\n"
      "[encode_*]\n"
      "margin = 0.05\n"
      "[encode_time of topk*]\n"
      "margin = 10 %\n"
      "; the last word\n"
      "[quality]\n"
      "least = 0.9\n"
      "most = 1.1\n"
      "[decode_time]\n"
      "ignore = true\n",
      "gate.ini");
  EXPECT_DOUBLE_EQ(policy.margin, 0.03);
  EXPECT_DOUBLE_EQ(policy.alpha, 0.01);
  EXPECT_EQ(policy.pairs, 12);
  EXPECT_EQ(policy.looks, 3);
  EXPECT_DOUBLE_EQ(policy.of("3lc/x", "encode_time", 0.03).margin, 0.05);
  EXPECT_DOUBLE_EQ(policy.of("topk/x", "encode_time", 0.03).margin, 0.1);
  EXPECT_DOUBLE_EQ(policy.of("topk/x", "exchange_time", 0.03).margin, 0.03);
  EXPECT_TRUE(policy.of("topk/x", "decode_time", 0.03).ignore);
  EXPECT_EQ(policy.of("topk/x", "quality", 0.03).least, 0.9);
  EXPECT_EQ(policy.of("topk/x", "quality", 0.03).most, 1.1);
}

TEST(GatePolicyFile, TheMachinesOwnTimesAreIgnoredUnlessAskedFor) {
  EXPECT_TRUE(GatePolicy().of("p", "read_time", 0.02).ignore);
  EXPECT_TRUE(GatePolicy().of("p", "encode_floor", 0.02).ignore);
  const GatePolicy policy = parse_policy("[read_time]\nignore = no\n", "gate.ini");
  EXPECT_FALSE(policy.of("p", "read_time", 0.02).ignore);
}

std::string complaint(const std::string& text) {
  return input_error([&] { parse_policy(text, "gate.ini"); });
}

TEST(GatePolicyFile, ComplaintsNameLineAndKey) {
  const std::pair<const char*, const char*> wrong[] = {
      {"[gate]\nmargin = 200%\n",
       "2: margin: expected a fraction above 0 and below 100 %, as 2% or 0.02, found '200%'"},
      {"[gate]\nmargn = 2%\n", "2: unknown key 'margn' in this section; did you mean 'margin'?"},
      {"margin = 2%\n", "1: expected a section first, as [gate], found 'margin = 2%'"},
      {"[gate\n", "1: expected a section, as [gate] or [encode_time], found '[gate'"},
      {"[gate]\nmargin\n", "2: expected 'key = value', found 'margin'"},
      {"[gate]\npairs = 3.5\n", "2: pairs: expected a whole number from 4 to 1000, found '3.5'"},
      {"[step_time]\nmost = 2\n", "2: 'most' is for metrics of quality; step_time is timed"},
      {"[x]\nignore = perhaps\n", "2: ignore: expected true or false, found 'perhaps'"}};
  for (const auto& [text, expected] : wrong)
    EXPECT_EQ(complaint(text), std::string("gate.ini line ") + expected);
  for (const char* text : {"[]\n", "[ ]\n", "[", "]", "=", "[gate]\n=\n", "[gate]\nmargin=\n",
                           "[gate]\nmargin=nan\n", "[gate]\nmargin=-1%\n"})
    EXPECT_NE(complaint(text), "") << text;
}

TEST(GatePolicyFile, AMissingFileIsNamed) {
  const std::string error = input_error([] { read_policy("/nowhere/gate.ini"); });
  EXPECT_NE(error.find("/nowhere/gate.ini"), std::string::npos) << error;
}

}  // namespace

}  // namespace thinpipe
