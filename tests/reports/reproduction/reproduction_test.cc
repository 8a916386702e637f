// Reproductions of papers, on records of commands that nobody ran: columns and pages.
#include "reports/reproduction/reproduction.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "reports/reproduction/columns.h"
#include "reports/reproduction/judge.h"
#include "tests/base/document.h"
#include "tests/base/support.h"
#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

using Values = std::vector<double>;

void add_samples(Point& point, const char* name, Values samples) {
  point.metrics[name].samples = std::move(samples);
}

Values values_in(const ReproductionColumn& column, const ArmRecords& arm,
                 const std::string& compressor = "") {
  return column.measure(arm, compressor).values();
}

Point trained_point(std::uint64_t seed, double accuracy, Status status = Status::kOk) {
  Point point;
  point.axes.seed = seed;
  point.status = status;
  add_samples(point, "final_accuracy", {accuracy});
  add_samples(point, "payload_bytes", {100});
  add_samples(point, "dense_bytes", {4000});
  add_samples(point, "target_seconds", {0.1});
  return point;
}

ArmRecords trainings(const std::string& label, const Values& accuracies) {
  ArmRecords arm{.label = label, .command = "thinpipe train -c '" + label + "'"};
  for (std::size_t i = 0; i < accuracies.size(); ++i)
    arm.records.points.push_back(trained_point(i + 1, accuracies[i]));
  return arm;
}

Point replayed(const std::string& compressor, double rate, int repeat, double seconds,
               Status status = Status::kOk) {
  Point point = sample::point(compressor, rate, repeat, {seconds, seconds, 10 * seconds});
  point.status = status;
  return point;
}

/// "with" and "without", trained; accuracy and times smaller.
ReproductionPlan made_up_plan() {
  return {.name = "dgc-fig3",
          .title = "a title",
          .source = "the paper",
          .here = "ours",
          .differences = {"another machine"},
          .columns = {columns::accuracy(), columns::times_smaller()},
          .rows = {{.label = "with", .arm = "with", .paper = {"90 %"}},
                   {.label = "without", .arm = "without", .paper = {}}},
          .expectations = {{.says = "it helps", .arm = "with", .than = "without", .least = 1}}};
}

void name_points(ArmRecords& arm, const std::vector<std::string>& methods) {
  for (std::size_t i = 0; i < methods.size(); ++i)
    arm.records.points[i].axes.compressor = arm.records.points[i].axes.method = methods[i];
}

TEST(TrainedColumns, TimesInDoubtDoNotCountWhatWasLearnedDoes) {
  ArmRecords arm{.label = "a"};
  arm.records.points = {trained_point(1, 0.9), trained_point(2, 0.1, Status::kFailed),
                        trained_point(3, 0.8, Status::kInvalid)};
  arm.records.points[1].reasons = {"rank 1 was killed"};
  arm.records.points[2].reasons = {"CPU idle time was 0.0 % (limit 2 %)"};
  const MeasuredCell learned = columns::accuracy().measure(arm, "");
  ASSERT_EQ(learned.repetitions.size(), 2U);
  EXPECT_EQ(learned.repetitions[1].key, 3U);
  EXPECT_DOUBLE_EQ(learned.repetitions[1].value, 80);
  EXPECT_EQ(learned.complaints, (std::vector<std::string>{"seed 2: failed, rank 1 was killed"}));
  const MeasuredCell times = columns::target_seconds().measure(arm, "");
  EXPECT_EQ(times.repetitions.size(), 1U);
  EXPECT_EQ(times.complaints.size(), 2U);
  EXPECT_FALSE(times.distrusted);
  arm.records.points.erase(arm.records.points.begin(), arm.records.points.begin() + 2);
  EXPECT_TRUE(columns::target_seconds().measure(arm, "").distrusted);
}

/// A baseline and a compressor, of a model that reaches `chance` without looking at its input.
ArmRecords trainings_beside_chance(const std::string& figure, double chance, double without,
                                   double with) {
  ArmRecords arm{.label = "LSTM"};
  arm.records.headers.emplace_back().training = document({{"figure", figure}, {"chance", chance}});
  for (const double value : {without, with}) {
    arm.records.points.push_back(trained_point(1, value));
    add_samples(arm.records.points.back(), "final_perplexity", {value});
  }
  name_points(arm, {"none", "sbc"});
  return arm;
}

TEST(LearningGuard, ABaselineHasToBeClearlyBetterThanChance) {
  EXPECT_EQ(not_learnt(trainings_beside_chance("perplexity", 20, 15, 30), {}), "");
  EXPECT_EQ(not_learnt(trainings_beside_chance("perplexity", 19.5, 20, 9), {}),
            "LSTM: without compression the perplexity is 20, and 19.5 of a model that knows only "
            "the frequencies of symbols");
  // An error rate of 67.5 % is 0.75 of 90 %.
  EXPECT_EQ(not_learnt(trainings_beside_chance("accuracy", 0.1, 0.326, 0.1), {}), "");
  EXPECT_EQ(not_learnt(trainings_beside_chance("accuracy", 0.1, 0.324, 0.9), {}),
            "LSTM: without compression the accuracy is 32.40 %, and 10.00 % of a model that knows "
            "only the frequencies of classes");
  ArmRecords unknown = trainings_beside_chance("perplexity", 1, 20, 20);
  unknown.records.headers[0].training = document({{"figure", "perplexity"}});
  EXPECT_EQ(not_learnt(unknown, {}), "");
  EXPECT_EQ(not_learnt(ArmRecords{}, {}), "");
  // An arm without `none` is judged by another arm's, of the same task.
  ArmRecords alone = trainings_beside_chance("perplexity", 20, 19, 19);
  name_points(alone, {"topk", "sbc"});
  EXPECT_EQ(not_learnt(alone, {trainings_beside_chance("perplexity", 20, 8, 9)}), "");
  EXPECT_NE(not_learnt(alone, {trainings_beside_chance("perplexity", 20, 19, 9)}), "");
  ArmRecords other = trainings_beside_chance("perplexity", 20, 19, 9);
  other.records.headers[0].training = document({{"steps", 7}});
  EXPECT_EQ(not_learnt(alone, {other}), "");
}

TEST(Outcome, CountsArithmeticApart) {
  ReproductionPlan plan = made_up_plan();
  Expectation rule = plan.expectations[0];
  rule.least = 0;
  rule.arithmetic = true;
  rule.one_side = "more is fine";
  plan.expectations.push_back(rule);
  const Reproduction result = reproduced(
      plan, {trainings("with", {0.9, 0.91, 0.92}), trainings("without", {0.8, 0.82, 0.81})}, false);
  EXPECT_EQ(outcome_of(result).outcome, "1 yes, 1 yes by arithmetic");
  const std::string page = reproduction_page(result, "");
  EXPECT_NE(page.find("at least 0 (more is fine)"), std::string::npos);
  EXPECT_NE(page.find("yes, by arithmetic |"), std::string::npos);
}

TEST(LearningGuard, OnlyRulesAboutLearningAreVoid) {
  ReproductionPlan plan = made_up_plan();
  plan.columns = {columns::perplexity(), columns::times_smaller()};
  plan.rows = {{.label = "with", .arm = "LSTM", .compressor = "sbc"},
               {.label = "without", .arm = "LSTM", .compressor = "none"}};
  plan.expectations = {{.says = "it learns as well", .arm = "with", .than = "without", .most = 1},
                       {.says = "it is smaller",
                        .arm = "with",
                        .least = 2,
                        .bounded = Bounded::kValue,
                        .column = "times smaller"}};
  const auto judged = [&](double without) {
    return reproduced(plan, {trainings_beside_chance("perplexity", 20, without, without)}, false);
  };
  const Reproduction learnt = judged(8), not_at_all = judged(20);
  EXPECT_EQ(learnt.findings[0].appeared, Appeared::kSeen);
  EXPECT_EQ(not_at_all.findings[0].appeared, Appeared::kVoid);
  EXPECT_EQ(not_at_all.findings[1].appeared, learnt.findings[1].appeared);
  EXPECT_EQ(outcome_of(not_at_all).outcome, "1 looks so, 1 void");
  EXPECT_NE(
      reproduction_page(not_at_all, "").find("- LSTM: without compression the perplexity is "),
      std::string::npos);
}

TEST(TrainedColumns, ServersAreBothWays) {
  ArmRecords arm = trainings("a", {0.9});  // 100 of 4000 bytes per direction
  EXPECT_EQ(values_in(columns::server_times_smaller(), arm), Values{80});
  EXPECT_EQ(values_in(columns::server_bits(), arm), Values{0.4});
  Point& point = arm.records.points[0];
  add_samples(point, "payload_bytes", {100, 100, 300, 500});
  EXPECT_EQ(values_in(columns::bits_during(false, 0, 1), arm), Values());
  add_samples(point, "pull_bytes", {75, 75, 100, 100});
  EXPECT_EQ(values_in(columns::bits_during(false, 0, 0.5), arm), Values{0.2});  // 25 of 4000 bytes
  EXPECT_EQ(values_in(columns::bits_during(true, 0.5, 1), arm), Values{0.8});
}

TEST(TrainedColumns, WhoNeverReachesTheTargetIsNoTimesSooner) {
  ArmRecords arm = trainings("a", {0.9, 0.9, 0.5});
  for (Point& point : arm.records.points) point.axes.seed = 1;
  name_points(arm, {"none", "topk", "redsync"});
  add_samples(arm.records.points[1], "target_seconds", {0.025});
  arm.records.points[2].metrics.erase("target_seconds");
  EXPECT_EQ(values_in(columns::sooner_at_target(), arm, "topk"), Values{4});
  EXPECT_EQ(values_in(columns::sooner_at_target(), arm, "redsync"), Values{0});
  arm.records.points[0].status = Status::kInvalid;
  EXPECT_TRUE(columns::sooner_at_target().measure(arm, "topk").distrusted);
  EXPECT_EQ(values_in(columns::sooner_at_target(), arm, "redsync"), Values{0});
  arm.records.points[0].metrics.erase("target_seconds");  // without compression neither
  EXPECT_EQ(values_in(columns::sooner_at_target(), arm, "redsync"), Values());
}

TEST(TrainedColumns, MissesDoNotCountWithoutTheTimesOfThoseThatReached) {
  ArmRecords arm = trainings("a", {0.9, 0.9, 0.9, 0.9});
  name_points(arm, {"none", "topk", "none", "topk"});
  for (std::size_t i = 0; i < 4; ++i) arm.records.points[i].axes.seed = 1 + i / 2;
  arm.records.points[3].metrics.erase("target_seconds");
  EXPECT_EQ(columns::sooner_at_target().measure(arm, "topk").repetitions.size(), 2u);
  arm.records.points[1].status = Status::kInvalid;
  const MeasuredCell cell = columns::sooner_at_target().measure(arm, "topk");
  EXPECT_TRUE(cell.distrusted && cell.repetitions.empty());
}

TEST(TrainedColumns, ATrainingThatDivergedIsAsGoodAsChance) {
  ArmRecords arm = trainings_beside_chance("accuracy", 0.1, 0.9, 0.9);
  Point& point = arm.records.points.back();
  point.status = Status::kFailed;
  const std::string compressor = point.axes.compressor;
  EXPECT_TRUE(values_in(columns::accuracy(), arm, compressor).empty());
  point.diverged = true;
  point.metrics.clear();
  const MeasuredCell cell = columns::accuracy().measure(arm, compressor);
  EXPECT_EQ(cell.values(), Values{10});
  EXPECT_EQ(cell.complaints.size(), 1u);
}

TEST(ReplayedColumns, SpeedUpIsOverNoneOfTheSameRepeatAndRate) {
  ArmRecords arm{.label = "a"};
  for (int repeat = 0; repeat < 2; ++repeat) {
    arm.records.points.push_back(replayed("none", 1e8, repeat, 1 + repeat));
    arm.records.points.push_back(replayed("none", 1e9, repeat, 77));
    arm.records.points.push_back(replayed("topk:ratio=0.1", 1e8, repeat, 0.5));
  }
  EXPECT_EQ(values_in(columns::speed_up(1e8), arm, "topk:ratio=0.1"), (Values{2, 4}));
  EXPECT_EQ(values_in(columns::speed_up(1e9), arm, "topk:ratio=0.1"), Values());
}

TEST(ReplayedColumns, WithoutATrustedNoneThereIsNoSpeedUp) {
  ArmRecords arm{.label = "a"};
  arm.records.points = {replayed("none", 1e8, 0, 1, Status::kInvalid),
                        replayed("3lc", 1e8, 0, 0.5)};
  const MeasuredCell cell = columns::speed_up(1e8).measure(arm, "3lc");
  EXPECT_TRUE(cell.repetitions.empty());
  EXPECT_TRUE(cell.distrusted);
  EXPECT_EQ(cell.baseline_complaints.size(), 1U);
}

TEST(BenchColumns, SpeedUpIsOverTheMethodAtTheSameRatio) {
  ArmRecords arm{.label = "a"};
  for (const char* spec : {"topk:ratio=0.1", "topk:ratio=0.01", "sidco:ratio=0.01"})
    arm.records.points.push_back(replayed(spec, 0, 0, 1));
  add_samples(arm.records.points[0], "encode_time", {9, 9, 9});
  add_samples(arm.records.points[1], "encode_time", {3, 6, 9});
  add_samples(arm.records.points[2], "encode_time", {1, 2, 3});
  const MeasuredCell cell = columns::encode_speed_up("topk").measure(arm, "sidco:ratio=0.01");
  EXPECT_EQ(cell.values(), (Values{3, 3, 3}));
  EXPECT_TRUE(cell.is_ratio);
}

TEST(KeptColumns, AreMeansOfWorkersOverAllTensors) {
  ArmRecords arm{.label = "a"};
  Point whole = replayed("topk", 0, 0, 1), one = whole;
  whole.id = "topk|*";
  whole.at = SamplePlaces{.step = {0, 1, 0, 1}, .rank = {0, 0, 1, 1}};
  add_samples(whole, "quality", {1, 3, 5, 7});
  one.id = "topk|conv1.weight";
  one.at = whole.at;
  add_samples(one, "quality", {9, 9, 9, 9});
  arm.records.points = {whole, one};
  EXPECT_EQ(values_in(columns::estimation_quality(), arm, "topk"), (Values{2, 6}));
  // A step without a k has no quality. The worker's other steps count.
  add_samples(arm.records.points[0], "quality", {std::nan(""), 3, 5, 7});
  EXPECT_EQ(values_in(columns::estimation_quality(), arm, "topk"), (Values{3, 6}));
  EXPECT_NEAR(columns::estimation_error().measure(arm, "topk").repetitions.at(0).value, 3, 1e-12);
}

TEST(KeptColumns, OfTrainingsAreMeansOfSeeds) {
  ArmRecords arm = trainings("a", {0.9, 0.8, 0.7});
  arm.records.headers.emplace_back().training = document({{"figure", "accuracy"}});
  add_samples(arm.records.points[0], "quality", {1, 3});
  add_samples(arm.records.points[1], "quality", {0.5, 2, 1});
  const MeasuredCell means = columns::estimation_quality().measure(arm, "");  // no third: no target
  ASSERT_EQ(means.values().size(), 2U);
  EXPECT_EQ(means.repetitions[0].key, 1U);
  EXPECT_DOUBLE_EQ(means.repetitions[0].value, 2);
  EXPECT_NEAR(columns::estimation_error().measure(arm, "").repetitions[1].value,
              std::exp(2 * std::log(2) / 3), 1e-12);
}

TEST(KeptColumns, OffByIsAFactorUpOrDown) {
  ArmRecords arm{.label = "a"};
  Point point = replayed("redsync", 0, 0, 1);
  point.id = "redsync|*";
  point.at = SamplePlaces{.step = {0, 1}, .rank = {0, 0}};
  add_samples(point, "quality", {2, 0.5});
  arm.records.points = {point};
  EXPECT_NEAR(columns::estimation_error().measure(arm, "redsync").repetitions[0].value, 2, 1e-12);
}

TEST(StatsColumns, AreOfTheWholeModelWithoutFeedback) {
  ArmRecords arm{.label = "a"};
  arm.stats.emplace();
  StatsGradient whole;
  whole.tensor = "*";
  whole.p = 0.8;
  whole.distances = {0.02, 0.03, 0.01, 0.2};
  StatsGradient one = whole, fed_back = whole;
  one.tensor = "conv1.weight";
  fed_back.feedback = true;
  one.p = fed_back.p = 7;
  arm.stats->gradients = {one, whole, fed_back};
  EXPECT_EQ(values_in(columns::decay_exponent(), arm), Values{0.8});
  EXPECT_EQ(values_in(columns::fit_distance(3), arm), Values{0.2});
}

TEST(PredictedColumns, ReadWhatPredictPrints) {
  ArmRecords arm{.label = "a"};
  arm.printed = document(nlohmann::json::parse(R"({"points": [
    {"axes": {"compressor": "dgc", "rate": 1e9, "ranks": 64}, "prediction": {"compute_time": 1, "step_time": 4}},
    {"axes": {"compressor": "none", "rate": 1e9, "ranks": 64}, "prediction": {"compute_time": 1, "step_time": 10}},
    {"axes": {"compressor": "dgc", "rate": 1e9, "ranks": 4}, "refusal": "too few"}]})"));
  EXPECT_EQ(values_in(columns::predicted_scaling(1e9, 64), arm, "dgc"), Values{16});
  EXPECT_EQ(values_in(columns::predicted_speed_up(1e9, 64), arm, "dgc"), Values{2.5});
  EXPECT_EQ(columns::predicted_scaling(1e9, 4).measure(arm, "dgc").complaints,
            (std::vector<std::string>{"too few"}));
}

// Two networks. On the slow one Top-k pays over both baselines, by its faster collective, and int8
// over none alone; on the fast one nothing pays by 5 %. With memory-bound codecs Top-k pays there.
TEST(PredictedColumns, CountCellsInWhichCompressionPays) {
  nlohmann::json points = nlohmann::json::array();
  const auto add = [&](const char* compressor, const char* collective, double rate, double step,
                       double bound) {
    points.push_back({{"axes",
                       {{"compressor", compressor},
                        {"collective", collective},
                        {"rate", rate},
                        {"delay", 0},
                        {"ranks", 4}}},
                      {"prediction", {{"step_time", step}}},
                      {"at_memory_pace", {{"prediction", {{"step_time", bound}}}}}});
  };
  add("none", "ring", 1e9, 4, 4);
  add("bf16:predivide=true", "ring", 1e9, 3, 3);
  add("bf16:predivide=true", "twoshot", 1e9, 2, 2);
  add("topk", "ring", 1e9, 5, 5);
  add("topk", "twoshot", 1e9, 1, 1);
  add("int8", "twoshot", 1e9, 2, 2);
  add("none", "ring", 1e10, 1, 1);
  add("bf16:predivide=true", "ring", 1e10, 0.9, 0.9);
  add("topk", "ring", 1e10, 0.98, 0.5);
  add("int8", "ring", 1e10, 2, 1);
  ArmRecords arm{.label = "a"};
  arm.printed = document({{"points", points}});
  const auto cells = [&](const columns::PayingCells& chosen, const char* compressor) {
    return values_in(columns::paying_cells(chosen), arm, compressor);
  };
  EXPECT_EQ(cells({.over = "both"}, "topk"), (Values{100, 0}));
  EXPECT_EQ(cells({.over = "none"}, "topk"), (Values{100, 0}));
  EXPECT_EQ(cells({.over = "none"}, "int8"), (Values{100, 0}));
  EXPECT_EQ(cells({.over = "bf16"}, "int8"), (Values{0, 0}));
  EXPECT_EQ(cells({.over = "both", .memory_bound = true}, "topk"), (Values{100, 100}));
  EXPECT_EQ(cells({.over = "both", .rate = 1e10}, ""), (Values{0, 0}));
  EXPECT_EQ(cells({.over = "both"}, "").size(), 4U);  // baselines are no cells

  ReproductionPlan plan;
  plan.columns = {columns::paying_cells({.over = "both"})};
  plan.rows = {{.label = "all", .arm = kAllArms, .paper = {}}};
  ArmRecords other = arm;
  other.label = "b";
  const Reproduction both = reproduced(plan, {arm, other}, false);
  EXPECT_EQ(both.cells.at(0).at(0).repetitions.size(), 8U);
  EXPECT_DOUBLE_EQ(both.cells.at(0).at(0).estimate().value, 25);
}

Reproduction made_up_reproduction(const Values& with, const Values& without, bool quick = false) {
  return reproduced(made_up_plan(), {trainings("with", with), trainings("without", without)},
                    quick);
}

TEST(Reproduced, RefusesWhatThePlanHasNot) {
  ReproductionPlan plan = made_up_plan();
  plan.expectations[0].column = "speed";
  EXPECT_THROW(reproduced(plan, {}, false), std::logic_error);
}

TEST(ReproductionText, FitsATerminalAndSaysWhatAppeared) {
  const std::string text =
      reproduction_text(made_up_reproduction({0.9, 0.91, 0.92}, {0.8, 0.82, 0.81}));
  EXPECT_NE(text.find("yes: it helps (10.00 +-"), std::string::npos) << text;
  EXPECT_NE(text.find("91.00 +-2.48 %"), std::string::npos) << text;
  EXPECT_NE(text.find("40x\n"), std::string::npos) << text;  // 4000 of 100 bytes
  for (const std::string& line : split(text, '\n')) EXPECT_LE(line.size(), 80U) << line;
}

TEST(ReproductionPage, ShowsRuleFiguresAndCommands) {
  const std::string page = reproduction_page(made_up_reproduction({0.9}, {}), "");
  for (const char* part : {"# dgc-fig3: a title", "the paper", "ours", "90 %", "another machine",
                           "not measured", "    thinpipe train -c 'with'"})
    EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
  EXPECT_LT(page.find("## The rules"), page.find("## The figures"));
  EXPECT_EQ(page.find("quick try"), std::string::npos);
  EXPECT_NE(reproduction_page(made_up_reproduction({0.9}, {}, true), "").find("quick try"),
            std::string::npos);
}

TEST(ReproductionPage, SaysWherePredictionsWereMade) {
  ArmRecords with{.label = "with", .command = "thinpipe predict"};
  with.printed = document(nlohmann::json::parse(R"({"created": "2026-11-23T06:00:00Z", "points": [],
      "fingerprint": {"cpu": "a processor", "cores": 2, "kernel": "Linux", "compiler": "g++",
                      "thinpipe": "0.1.0", "git": "1234567"}})"));
  const Reproduction result = reproduced(made_up_plan(), {with, {.label = "without"}}, false);
  EXPECT_EQ(outcome_of(result).date, "2026-11-23");
  const std::string page = reproduction_page(result, "");
  EXPECT_NE(page.find("- 2026-11-23: a processor, 2 cores, Linux, thinpipe 0.1.0 (1234567), g++"),
            std::string::npos)
      << page;
  EXPECT_EQ(page.find("nothing was recorded"), std::string::npos);
}

TEST(ReproductionPage, NamesWhatFailedAndWhatIsNotTrusted) {
  ReproductionPlan plan = made_up_plan();
  plan.columns = {columns::target_seconds()};
  plan.rests_on_times = true;
  ArmRecords distrusted = trainings("with", {0.9});
  distrusted.records.points[0].status = Status::kInvalid;
  ArmRecords failed{.label = "without", .command = "thinpipe train"};
  failed.failure = "exit code 4";
  const Reproduction result = reproduced(plan, {distrusted, failed}, false);
  EXPECT_TRUE(result.nothing_trusted());
  EXPECT_FALSE(result.complete());
  const std::string page = reproduction_page(result, "");
  for (const char* part :
       {"No times are trusted", "Not complete", "without: exit code 4", "not trusted"})
    EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
}

TEST(ReproductionPage, NamesABaselinesPointsOnceAlsoWithoutARowOfIts) {
  ArmRecords arm{.label = "a", .command = "thinpipe run"};
  arm.records.points = {replayed("none", 1e8, 0, 1, Status::kInvalid), replayed("3lc", 1e8, 0, 0.5),
                        replayed("topk", 1e8, 0, 0.5)};
  ReproductionPlan plan = made_up_plan();
  plan.columns = {columns::speed_up(1e8)};
  plan.expectations = {};
  plan.rows = {{.label = "3LC", .arm = "a", .compressor = "3lc"},
               {.label = "Top-k", .arm = "a", .compressor = "topk"}};
  const auto lines = [&] {
    const std::string page = reproduction_page(reproduced(plan, {arm}, false), "");
    std::size_t count = 0;
    for (std::size_t at = 0; (at = page.find(": invalid", at)) != std::string::npos; ++at) ++count;
    return std::pair(count, page.find("- baseline, ") != std::string::npos);
  };
  EXPECT_EQ(lines(), std::pair(std::size_t{1}, true));
  plan.rows.push_back({.label = "32-bit float", .arm = "a", .compressor = "none"});
  EXPECT_EQ(lines(), std::pair(std::size_t{1}, false));
}

TEST(ReproductionIndex, ListsWhatWasCarriedOut) {
  const ReproductionOutcome outcome =
      outcome_of(made_up_reproduction({0.9, 0.91, 0.92}, {0.8, 0.82, 0.81}));
  EXPECT_EQ(outcome.outcome, "1 yes");
  const TemporaryFolder folder;
  const std::filesystem::path file = folder / "made-up-outcome.json";
  write_outcome(file, outcome);
  const auto read = read_outcome(file);
  ASSERT_TRUE(read);
  EXPECT_NE(reproduction_index({*read}).find("| [dgc-fig3](dgc-fig3.md) | a title | 1 yes |"),
            std::string::npos);
  EXPECT_FALSE(read_outcome(file.string() + ".not-there"));
}

TEST(ReproductionPicture, NeedsNothingElse) {
  ReproductionPlan plan = made_up_plan();
  plan.picture = [](const std::vector<ArmRecords>&) {
    ReproductionPicture picture;
    picture.chart.id = "p";
    picture.chart.alt = "a line";
    picture.chart.x = {"x", false, format_plain, {}, {}};
    picture.chart.y = {"y", false, format_plain, {}, {}};
    picture.chart.curves = {
        {.style = 1, .points = {{1, 2, std::nullopt, true, ""}, {2, 3, std::nullopt, true, ""}}}};
    picture.names = {"a <line>"};
    return picture;
  };
  const std::string svg = reproduction_picture(reproduced(plan, {}, false));
  for (const char* part : {"<svg xmlns=", "a &lt;line&gt;", "<title>a line</title>"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  EXPECT_EQ(svg.find("href=\"http"), std::string::npos);
  EXPECT_EQ(svg.find("var("), std::string::npos);  // only browsers know these colours
}

}  // namespace

}  // namespace thinpipe
