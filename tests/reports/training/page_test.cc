// The report of trainings, on made-up records.
#include "reports/training/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/reports/markup.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

// Four steps, an evaluation after the second and the fourth; a better seed is better by 0.01.
Point learned(const std::string& compressor, int seed, double bytes, double seconds,
              Status status) {
  Point point;
  point.id = compressor + "/" + std::to_string(seed);
  point.status = status;
  if (status != Status::kOk) point.reasons = {"<clock> stood"};
  point.axes.compressor = compressor;
  point.axes.method = compressor.substr(0, compressor.find(':'));
  point.axes.link = "rate=10mbit";
  point.axes.rate = 1e7;
  point.axes.pattern = "allgather-ring";
  point.axes.ranks = 2;
  point.axes.seed = static_cast<std::uint64_t>(seed);
  const double luck = 0.01 * seed;
  point.training = {{"evaluations",
                     {{"steps", {2, 4}},
                      {"bytes", {2 * bytes, 4 * bytes}},
                      {"seconds", {2 * seconds, 4 * seconds}},
                      {"loss", {0.5, 0.2 - luck}},
                      {"accuracy", {0.8, 0.9 + luck}}}}};
  const auto add = [&](const char* name, std::vector<double> values) {
    point.metrics[name] = {"1", "lower", "quality", std::move(values)};
  };
  add("payload_bytes", std::vector<double>(4, bytes));
  add("dense_bytes", {4000});
  add("final_accuracy", {0.9 + luck});
  add("final_loss", {0.2 - luck});
  add("train_seconds", {4 * seconds});
  add("train_bytes", {4 * bytes});
  if (seed > 0 || compressor == "none") {
    add("target_seconds", {2 * seconds});
    add("target_bytes", {2 * bytes});
  }
  return point;
}

Records some_learned() {
  Records records;
  records.file = "out/records.jsonl";
  Header header;
  header.kind = kTrainKind;
  header.created = "2026-01-01T00:00:00Z";
  header.command = {"thinpipe", "train", "--model", "lenet5"};
  header.training = {{"figure", "accuracy"}, {"target", "acc=0.8"}, {"data", "drawn digits"}};
  records.headers.push_back(header);
  for (int seed = 0; seed < 3; ++seed) {
    records.points.push_back(learned("none", seed, 4000, 10, Status::kOk));
    records.points.push_back(learned("topk:ratio=0.01", seed, 80, 1, Status::kOk));
  }
  records.points.push_back(learned("3lc", 0, 100, 2, Status::kInvalid));
  return records;
}

TEST(TrainingCurves, AreMeansOverSeeds) {
  const Records records = some_learned();
  const TrainingSummary summary = summarize_training(records);
  const auto points = evaluation_points(summary.groups[0], "bytes", "accuracy", 100);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_DOUBLE_EQ(points[1].x, 16000);
  EXPECT_NEAR(points[1].y, 91, 1e-9);  // 90, 91 and 92
  ASSERT_TRUE(points[1].interval);
  // Student's t for 95 % and two degrees of freedom is 4.303; s / sqrt(3) is 0.577.
  EXPECT_NEAR(points[1].interval->high - 91, 4.303 * 0.57735, 1e-3);
}

TEST(TrainingCurves, BitsAreOfAnElement) {
  const Records records = some_learned();
  const TrainingSummary summary = summarize_training(records);
  for (const TrainedGroup& group : summary.groups) {
    const auto points = bits_points(group);
    ASSERT_EQ(points.size(), 4U) << group.label;
    EXPECT_DOUBLE_EQ(points[0].x, 1);
    if (group.baseline) {
      EXPECT_DOUBLE_EQ(points[3].y, 32);
    }
    if (group.label == "topk") {
      EXPECT_DOUBLE_EQ(points[3].y, 0.64);
    }  // 80 bytes of 1000 elements
    EXPECT_EQ(points[0].is_trusted, group.label != "3lc");
  }
}

TEST(TrainingCurves, LongOnesAreThinnedByMeans) {
  Records records = some_learned();
  std::vector<double> bytes(1000, 4.0);
  bytes.back() = 4004;
  records.points[1].metrics["payload_bytes"].samples = bytes;
  records.points.resize(2);
  const TrainingSummary summary = summarize_training(records);
  const auto points = bits_points(summary.groups[1]);
  ASSERT_EQ(points.size(), 100U);
  EXPECT_DOUBLE_EQ(points[0].x, 5.5);  // the middle of steps 1 to 10
  // Nine steps of 4 bytes and one of 4004, of 4000: 404 bytes on average, 32 bits for 4000.
  EXPECT_DOUBLE_EQ(points[99].y, 404 * 32.0 / 4000);
}

TEST(TrainingFigures, AreThoseThatThereArePointsFor) {
  const Records records = some_learned();
  const TrainingSummary summary = summarize_training(records);
  const auto sections = training_sections(summary);
  ASSERT_EQ(sections.size(), 1U);
  EXPECT_EQ(sections[0].title, "2 workers, rate=10mbit");
  EXPECT_THAT(sections[0].styles, ElementsAre(0, 1, 2));
  std::vector<std::string> ids;
  for (const Figure& figure : training_figures(summary, sections[0], "t0")) {
    ids.push_back(figure.id);
    for (const Panel& panel : figure.panels)
      EXPECT_EQ(sample::check_markup(panel.svg).error, "") << figure.id;
    // A mean over those seeds alone that reached the target would flatter.
    if (figure.id == "t0-target") {
      EXPECT_THAT(figure.data, Not(HasSubstr("topk")));
    }
  }
  EXPECT_THAT(
      ids, ElementsAre("t0-quality", "t0-loss", "t0-target", "t0-final", "t0-pareto", "t0-bits"));
}

TEST(TrainingPage, HasTheVerdictFirstAndWhyPointsAreGrey) {
  const std::string page = render_training_html(some_learned());
  EXPECT_LT(page.find("What was found"), page.find("<figure"));
  EXPECT_THAT(page, HasSubstr("&lt;clock&gt; stood"));
  EXPECT_THAT(page, Not(HasSubstr("<clock>")));
  EXPECT_THAT(page, HasSubstr("2 of 3 seeds"));
  EXPECT_THAT(page, HasSubstr("drawn digits"));
  EXPECT_THAT(render_training_markdown(some_learned()), HasSubstr("## All trainings"));
}

TEST(TrainingPage, NeedsAPoint) {
  Records records = some_learned();
  records.points.clear();
  EXPECT_THROW(render_training_html(records), InputError);
  EXPECT_THROW(render_training_markdown(records), InputError);
}

}  // namespace
}  // namespace thinpipe
