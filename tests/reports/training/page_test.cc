// Summaries and pages of trainings, on made-up records.
#include "reports/training/summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "reports/text/phrases.h"
#include "tests/reports/sample.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// Figures are made up; they are only looked at for how they are shown.
Point trained(const std::string& compressor, double rate, int seed, double accuracy, double seconds,
              bool reached) {
  Point point = sample::point(compressor, rate, seed, {});
  const auto add = [&](const char* name, double value) {
    point.metrics[name] = {"1", "lower", "quality", {value}};
  };
  add("final_accuracy", accuracy);
  add("train_seconds", 2 * seconds);
  add("train_bytes", 1e6);
  if (reached) add("target_seconds", seconds);
  return point;
}

Records some_trainings(int seeds) {
  Records records;
  Header header;
  header.kind = kTrainKind;
  header.training = document({{"figure", "accuracy"}, {"target", "acc=0.9"}});
  records.headers.push_back(header);
  for (int seed = 0; seed < seeds; ++seed) {
    records.points.push_back(trained("topk:ratio=0.01", 1e7, seed, 0.95 + 0.001 * seed, 5, true));
    records.points.push_back(trained("none", 1e7, seed, 0.96 + 0.001 * seed, 20, true));
    records.points.push_back(trained("topk:ratio=0.1", 1e7, seed, 0.94, 8, seed > 0));
  }
  return records;
}

TEST(TrainingTable, IsAtMostEightyColumnsWide) {
  Records records = some_trainings(3);
  records.points.push_back(trained("a-method-with-a-very-long-name:and=3.14159,parameters=2", 1e7,
                                   1, 0.5, 123456, false));
  records.points.back().axes.link = "rate=10mbit,delay=100ms,loss=0.1%";
  const std::vector<std::string> lines = split(training_text(records), '\n');
  for (const std::string& line : lines) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_GT(lines.size(), 6U);
}

TEST(TrainingTable, ShowsMeansIntervalsAndGains) {
  const std::string text = training_table(summarize_training(some_trainings(3)));
  for (const char* part : {"none             10 Mbit/s  96.10 +-0.25", "topk ratio=0.01", "2 of 3"})
    EXPECT_THAT(text, HasSubstr(part));
}

TEST(TrainingTable, TellsDevicesApart) {
  Records records = some_trainings(2);
  const std::size_t before = summarize_training(records).groups.size();
  records.points.push_back(trained("topk:ratio=0.1", 1e7, 0, 0.94, 8, true));
  records.points.back().axes.device = "cuda";
  const TrainingSummary summary = summarize_training(records);
  ASSERT_EQ(summary.groups.size(), before + 1);
  const auto labelled = [&](const char* label) {
    return std::count_if(summary.groups.begin(), summary.groups.end(),
                         [&](const TrainedGroup& group) { return group.label == label; });
  };
  EXPECT_EQ(labelled("topk ratio=0.1, device=cuda"), 1);
  EXPECT_EQ(labelled("topk ratio=0.1"), 1);
  EXPECT_EQ(labelled("topk ratio=0.01"), 1);
}

TEST(TrainingTable, SaysWhoWasFirstAndWhatItCost) {
  const auto findings = training_findings(summarize_training(some_trainings(3)));
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_THAT(findings[0],
              StartsWith("topk ratio=0.01 reached acc=0.9 first on 10 Mbit/s, after 5 s: a "
                         "speed-up of 4\xc3\x97 over fp32. Its accuracy on held-out data is "
                         "95.10 +-"));
  EXPECT_THAT(findings[0], HasSubstr("the 95 % CIs do not overlap"));
  const auto few = training_findings(summarize_training(some_trainings(1)));
  EXPECT_THAT(few[0], HasSubstr("three seeds"));
}

// With one of its three seeds, the fastest compressor diverged: that seed missed the target too.
TEST(TrainingTable, ADivergedSeedMissedTheTarget) {
  Records records = some_trainings(3);
  Point& diverged = records.points[0];  // topk ratio=0.01
  diverged.status = Status::kFailed;
  diverged.diverged = true;
  diverged.metrics.clear();
  const TrainingSummary summary = summarize_training(records);
  const TrainedGroup& group = summary.groups[1];
  ASSERT_EQ(group.label, "topk ratio=0.01");
  EXPECT_EQ(group.seeds(), 3U);
  EXPECT_FALSE(group.is_complete("target_seconds"_metric));
  EXPECT_FALSE(summary.gain(group, Baseline::kFp32));
  EXPECT_THAT(
      training_findings(summary),
      ElementsAre(StartsWith("none reached acc=0.9 first on 10 Mbit/s, after 20 s."),
                  "Diverged, and therefore left out of means: topk ratio=0.01 on 10 Mbit/s (1 of 3 "
                  "seeds).",
                  StartsWith("Of 9 trainings, 1 failed and 0 are invalid")));
}

TEST(TrainingTable, TellsBothBaselines) {
  Records records = some_trainings(3);
  for (int seed = 0; seed < 3; ++seed)
    records.points.push_back(trained("bf16", 1e7, seed, 0.96, 10, true));
  const TrainingSummary summary = summarize_training(records);
  ASSERT_EQ(summary.groups.size(), 4U);
  EXPECT_EQ(summary.groups[0].label, "none");
  EXPECT_EQ(summary.groups[1].label, "bf16");
  EXPECT_EQ(summary.baseline(summary.groups[2]), &summary.groups[1]);
  EXPECT_EQ(summary.gain(summary.groups[2], Baseline::kBf16), 2);
  EXPECT_EQ(summary.gain(summary.groups[2], Baseline::kFp32), 4);
  EXPECT_THAT(training_table(summary), HasSubstr("vs bf16  vs fp32"));
  EXPECT_THAT(training_findings(summary)[0],
              HasSubstr("a speed-up of 2\xc3\x97 over bf16 and 4\xc3\x97 over fp32. Its accuracy"));
}

TEST(TrainingTable, ConcludesNothingFromWhatIsNotBelieved) {
  Records records = some_trainings(2);
  for (Point& point : records.points) point.status = Status::kInvalid;
  records.points[0].status = Status::kFailed;
  const auto findings = training_findings(summarize_training(records));
  EXPECT_THAT(findings, ElementsAre(HasSubstr("No trusted training reached"),
                                    HasSubstr("Of 6 trainings, 1 failed and 5 are invalid")));
  EXPECT_THROW(summarize_training(Records()), InputError);
}

// Four steps, an evaluation after the second and the fourth; a better seed is better by 0.01.
Point learned(const std::string& compressor, int seed, double bytes, double seconds,
              Status status) {
  Point point = sample::point(compressor, 1e7, 0, {});
  point.status = status;
  if (status != Status::kOk) point.reasons = {"<clock> stood"};
  point.axes.link = "rate=10mbit";
  point.axes.ranks = 2;
  point.axes.seed = static_cast<std::uint64_t>(seed);
  const double luck = 0.01 * seed;
  point.training = document({{"evaluations",
                              {{"steps", {2, 4}},
                               {"bytes", {2 * bytes, 4 * bytes}},
                               {"seconds", {2 * seconds, 4 * seconds}},
                               {"loss", {0.5, 0.2 - luck}},
                               {"accuracy", {0.8, 0.9 + luck}}}}});
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
  header.training =
      document({{"figure", "accuracy"}, {"target", "acc=0.8"}, {"data", "drawn digits"}});
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
  const auto points = evaluation_points(summary.groups[0], "bytes", "accuracy", format_percent);
  ASSERT_EQ(points.size(), 2U);
  EXPECT_DOUBLE_EQ(points[1].x, 16000);
  EXPECT_NEAR(points[1].y, 0.91, 1e-9);  // 0.9, 0.91 and 0.92
  EXPECT_EQ(points[1].tooltip, "none, 16 kB\n91 %, mean of 3 seeds");
  ASSERT_TRUE(points[1].interval);
  // Student's t for 95 % and two degrees of freedom is 4.303; s / sqrt(3) is 0.00577.
  EXPECT_NEAR(points[1].interval->high - 0.91, 4.303 * 0.0057735, 1e-5);
}

TEST(TrainingCurves, BitsAreOfAnElement) {
  const Records records = some_learned();
  const TrainingSummary summary = summarize_training(records);
  for (const TrainedGroup& group : summary.groups) {
    const auto points = bits_points(group);
    ASSERT_EQ(points.size(), 4U) << group.label;
    EXPECT_DOUBLE_EQ(points[0].x, 1);
    if (group.label != "3lc") {  // topk: 80 bytes of 1000 elements
      EXPECT_DOUBLE_EQ(points[3].y, group.baseline ? 32 : 0.64);
    }
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
  // Nine steps send 4 bytes and one step sends 4004 bytes, on average 404 bytes. The gradient has
  // 4000 bytes, which correspond to 32 bits per element.
  EXPECT_DOUBLE_EQ(points[99].y, 404 * 32.0 / 4000);
}

TEST(TrainingFigures, AreThoseThatThereArePointsFor) {
  const Records records = some_learned();
  const TrainingSummary summary = summarize_training(records);
  const auto sections = training_sections(summary);
  ASSERT_EQ(sections.size(), 1U);
  EXPECT_EQ(sections[0].title, "2 workers, rate=10mbit");
  std::vector<std::size_t> styles;
  for (const StyledGroup& of : sections[0].groups) styles.push_back(of.style);
  EXPECT_THAT(styles, ElementsAre(0, 1, 2));
  std::vector<std::string> ids;
  for (const Figure& figure : training_figures(summary, sections[0], "t0")) {
    ids.push_back(figure.id);
    for (const Panel& panel : figure.panels)
      EXPECT_EQ(sample::check_markup(panel.svg).error, "") << figure.id;
    // A mean over those seeds alone that reached the target would flatter.
    // In base units, as all data under figures.
    if (figure.id == "t0-final") {
      EXPECT_THAT(figure.data, HasSubstr(",none,,0.91,"));
    }
    if (figure.id == "t0-target") {
      EXPECT_THAT(figure.data, Not(HasSubstr("topk")));
    }
  }
  EXPECT_THAT(
      ids, ElementsAre("t0-quality", "t0-loss", "t0-target", "t0-final", "t0-pareto", "t0-bits"));
}

TEST(TrainingPage, HasTheVerdictFirstAndWhyPointsAreGrey) {
  const std::string page = render_training(some_learned(), ReportFormat::kHtml);
  EXPECT_LT(page.find("Findings"), page.find("<figure"));
  EXPECT_THAT(page, HasSubstr("&lt;clock&gt; stood"));
  EXPECT_THAT(page, Not(HasSubstr("<clock>")));
  EXPECT_THAT(page, HasSubstr("2 of 3 seeds"));
  EXPECT_THAT(page, HasSubstr("drawn digits"));
  EXPECT_THAT(render_training(some_learned(), ReportFormat::kMarkdown),
              HasSubstr("## All trainings"));
}

TEST(TrainingPage, NeedsAPoint) {
  Records records = some_learned();
  records.points.clear();
  for (const ReportFormat format : {ReportFormat::kHtml, ReportFormat::kMarkdown})
    EXPECT_THROW(render_training(records, format), InputError);
}

}  // namespace

}  // namespace thinpipe
