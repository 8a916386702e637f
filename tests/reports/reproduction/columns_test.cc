#include "reports/reproduction/columns.h"

#include <gtest/gtest.h>

#include "tests/reports/reproduction/made_up.h"

namespace thinpipe {
namespace {

void name_points(ArmRecords& arm, const std::vector<std::string>& methods) {
  for (std::size_t i = 0; i < methods.size(); ++i)
    arm.records.points[i].axes.compressor = arm.records.points[i].axes.method = methods[i];
}

TEST(TrainedColumns, TimesInDoubtDoNotCountWhatWasLearnedDoes) {
  ArmRecords arm{.label = "a"};
  arm.records.points = {made_up::trained(1, 0.9), made_up::trained(2, 0.1, Status::kFailed),
                        made_up::trained(3, 0.8, Status::kInvalid)};
  arm.records.points[1].reasons = {"rank 1 was killed"};
  arm.records.points[2].reasons = {"the processors were idle only 0 % of the time"};
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

TEST(TrainedColumns, ServersAreBothWays) {
  ArmRecords arm = made_up::trainings("a", {0.9});  // 100 of 4000 bytes each way
  EXPECT_EQ(columns::server_times_smaller().measure(arm, "").values(), (std::vector<double>{80}));
  EXPECT_EQ(columns::server_bits().measure(arm, "").values(), (std::vector<double>{0.4}));
  Point& point = arm.records.points[0];
  made_up::add_samples(point, "payload_bytes", {100, 100, 300, 500});
  EXPECT_TRUE(columns::bits_during(false, 0, 1).measure(arm, "").repetitions.empty());
  made_up::add_samples(point, "pull_bytes", {75, 75, 100, 100});
  EXPECT_EQ(columns::bits_during(false, 0, 0.5).measure(arm, "").values(),
            (std::vector<double>{0.2}));  // 25 of 4000 bytes
  EXPECT_EQ(columns::bits_during(true, 0.5, 1).measure(arm, "").values(),
            (std::vector<double>{0.8}));
}

TEST(TrainedColumns, WhoNeverReachesTheTargetIsNoTimesSooner) {
  ArmRecords arm = made_up::trainings("a", {0.9, 0.9, 0.5});
  for (Point& point : arm.records.points) point.axes.seed = 1;
  name_points(arm, {"none", "topk", "redsync"});
  made_up::add_samples(arm.records.points[1], "target_seconds", {0.025});
  arm.records.points[2].metrics.erase("target_seconds");
  EXPECT_EQ(columns::sooner_at_target().measure(arm, "topk").values(), (std::vector<double>{4}));
  EXPECT_EQ(columns::sooner_at_target().measure(arm, "redsync").values(), (std::vector<double>{0}));
  arm.records.points[0].status = Status::kInvalid;
  EXPECT_TRUE(columns::sooner_at_target().measure(arm, "topk").distrusted);
}

TEST(ReplayedColumns, SpeedUpIsOverNoneOfTheSameRepeatAndRate) {
  ArmRecords arm{.label = "a"};
  for (int repeat = 0; repeat < 2; ++repeat) {
    arm.records.points.push_back(made_up::replayed("none", 1e8, repeat, 1 + repeat));
    arm.records.points.push_back(made_up::replayed("none", 1e9, repeat, 77));
    arm.records.points.push_back(made_up::replayed("topk:ratio=0.1", 1e8, repeat, 0.5));
  }
  const MeasuredCell cell = columns::speed_up(1e8).measure(arm, "topk:ratio=0.1");
  EXPECT_EQ(cell.values(), (std::vector<double>{2, 4}));
  EXPECT_TRUE(columns::speed_up(1e9).measure(arm, "topk:ratio=0.1").repetitions.empty());
}

TEST(ReplayedColumns, WithoutATrustedNoneThereIsNoSpeedUp) {
  ArmRecords arm{.label = "a"};
  arm.records.points = {made_up::replayed("none", 1e8, 0, 1, Status::kInvalid),
                        made_up::replayed("3lc", 1e8, 0, 0.5)};
  const MeasuredCell cell = columns::speed_up(1e8).measure(arm, "3lc");
  EXPECT_TRUE(cell.repetitions.empty());
  EXPECT_TRUE(cell.distrusted);
}

TEST(BenchColumns, SpeedUpIsOverTheMethodAtTheSameRatio) {
  ArmRecords arm{.label = "a"};
  for (const char* spec : {"topk:ratio=0.1", "topk:ratio=0.01", "sidco:ratio=0.01"})
    arm.records.points.push_back(made_up::replayed(spec, 0, 0, 1));
  made_up::add_samples(arm.records.points[0], "encode_time", {9, 9, 9});
  made_up::add_samples(arm.records.points[1], "encode_time", {3, 6, 9});
  made_up::add_samples(arm.records.points[2], "encode_time", {1, 2, 3});
  const MeasuredCell cell = columns::encode_speed_up("topk").measure(arm, "sidco:ratio=0.01");
  EXPECT_EQ(cell.values(), (std::vector<double>{3, 3, 3}));
  EXPECT_TRUE(cell.is_ratio);
}

TEST(MeasuredCell, MeansOfRatiosAreGeometricWhereTheyCanBe) {
  MeasuredCell cell;
  cell.is_ratio = true;
  cell.repetitions = {{0, 1}, {1, 4}, {2, 16}};
  const Estimate estimate = cell.estimate();
  EXPECT_NEAR(estimate.value, 4, 1e-12);
  EXPECT_GT(estimate.interval->low, 0);
  cell.repetitions = {{0, 0}, {1, 4}};
  EXPECT_DOUBLE_EQ(cell.estimate().value, 2);
}

TEST(KeptColumns, AreMeansOfWorkersOverAllTensors) {
  ArmRecords arm{.label = "a"};
  Point whole = made_up::replayed("topk", 0, 0, 1), one = whole;
  whole.id = "topk|*";
  whole.at = {{"rank", {0, 0, 1, 1}}};
  made_up::add_samples(whole, "quality", {1, 3, 5, 7});
  one.id = "topk|conv1.weight";
  one.at = whole.at;
  made_up::add_samples(one, "quality", {9, 9, 9, 9});
  arm.records.points = {whole, one};
  EXPECT_EQ(columns::kept("quality").measure(arm, "topk").values(), (std::vector<double>{2, 6}));
}

TEST(KeptColumns, OffByIsAFactorUpOrDown) {
  ArmRecords arm{.label = "a"};
  Point point = made_up::replayed("redsync", 0, 0, 1);
  point.id = "redsync|*";
  point.at = {{"rank", {0, 0}}};
  made_up::add_samples(point, "quality", {2, 0.5});
  arm.records.points = {point};
  EXPECT_NEAR(columns::off_by().measure(arm, "redsync").repetitions[0].value, 2, 1e-12);
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
  EXPECT_EQ(columns::decay_exponent().measure(arm, "").values(), (std::vector<double>{0.8}));
  EXPECT_EQ(columns::fit_distance(3).measure(arm, "").values(), (std::vector<double>{0.2}));
}

TEST(PredictedColumns, ReadWhatPredictPrints) {
  ArmRecords arm{.label = "a"};
  arm.printed = nlohmann::json::parse(R"({"points": [
    {"axes": {"compressor": "dgc", "rate": 1e9, "ranks": 64}, "prediction": {"compute_time": 1, "step_time": 4}, "over_none": 12.5},
    {"axes": {"compressor": "dgc", "rate": 1e9, "ranks": 4}, "refusal": "too few"}]})");
  EXPECT_EQ(columns::predicted_speed_up(1e9, 64).measure(arm, "dgc").values(),
            (std::vector<double>{12.5}));
  EXPECT_EQ(columns::predicted_scaling(1e9, 64).measure(arm, "dgc").values(),
            (std::vector<double>{16}));
  EXPECT_EQ(columns::predicted_speed_up(1e9, 4).measure(arm, "dgc").complaints,
            (std::vector<std::string>{"too few"}));
}

}  // namespace
}  // namespace thinpipe
