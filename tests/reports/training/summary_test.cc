#include "reports/training/summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/error.h"

namespace thinpipe {
namespace {

// Figures are made up; they are only looked at for how they are shown.
Point trained(const std::string& compressor, double rate, int seed, double accuracy, double seconds,
              bool reached) {
  Point point;
  point.id = compressor + std::to_string(rate) + std::to_string(seed);
  point.axes.compressor = compressor;
  point.axes.method = compressor.substr(0, compressor.find(':'));
  point.axes.link = "rate=" + std::to_string(static_cast<int>(rate / 1e6)) + "mbit";
  point.axes.rate = rate;
  point.axes.pattern = "allgather-ring";
  point.axes.ranks = 4;
  point.axes.repeat = seed;
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
  header.training = {{"figure", "accuracy"}, {"target", "acc=0.9"}};
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
  std::istringstream lines(training_text(records));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_GT(count, 5);
}

TEST(TrainingTable, ShowsMeansIntervalsAndGains) {
  const std::string text = training_table(summarize_training(some_trainings(3)));
  EXPECT_NE(text.find("none             10 Mbit/s  96.10 +-0.25"), std::string::npos) << text;
  EXPECT_NE(text.find("topk ratio=0.01"), std::string::npos) << text;
  EXPECT_NE(text.find("2 of 3"), std::string::npos) << text;
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
  EXPECT_TRUE(
      findings[0].starts_with("On 10 Mbit/s topk ratio=0.01 reached acc=0.9 first, after 5 s, 4 "
                              "times sooner than none; its "
                              "accuracy on held-out data is 95.10 +-"))
      << findings[0];
  EXPECT_NE(findings[0].find("lie apart"), std::string::npos) << findings[0];
  const auto few = training_findings(summarize_training(some_trainings(1)));
  EXPECT_NE(few[0].find("three seeds"), std::string::npos) << few[0];
}

TEST(TrainingTable, TellsBothBaselines) {
  Records records = some_trainings(3);
  for (int seed = 0; seed < 3; ++seed) {
    records.points.push_back(trained("bf16", 1e7, seed, 0.96, 10, true));
    records.points.back().axes.pattern = "allreduce-ring";
  }
  const TrainingSummary summary = summarize_training(records);
  ASSERT_EQ(summary.groups.size(), 4U);
  EXPECT_EQ(summary.groups[0].label, "none");
  EXPECT_EQ(summary.groups[1].label, "bf16");
  EXPECT_EQ(summary.baseline(summary.groups[2]), &summary.groups[1]);
  EXPECT_EQ(summary.gain(summary.groups[2], Baseline::kBf16), 2);
  EXPECT_EQ(summary.gain(summary.groups[2], Baseline::kFp32), 4);
  EXPECT_NE(training_table(summary).find("x bf16  x none"), std::string::npos)
      << training_table(summary);
  EXPECT_NE(training_findings(summary)[0].find(
                "2 times sooner than bf16, 4 times sooner than none; its accuracy"),
            std::string::npos)
      << training_findings(summary)[0];
}

TEST(TrainingTable, ConcludesNothingFromWhatIsNotBelieved) {
  Records records = some_trainings(2);
  for (Point& point : records.points) point.status = Status::kInvalid;
  records.points[0].status = Status::kFailed;
  const auto findings = training_findings(summarize_training(records));
  ASSERT_EQ(findings.size(), 2U);
  EXPECT_NE(findings[0].find("No training"), std::string::npos);
  EXPECT_NE(findings[1].find("Of 6 trainings 1 failed and 5"), std::string::npos) << findings[1];
  EXPECT_THROW(summarize_training(Records()), InputError);
}

}  // namespace

}  // namespace thinpipe
