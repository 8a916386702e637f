#include "reports/reproduction/reproduction.h"

#include <gtest/gtest.h>

#include <cmath>

#include "reports/text/units.h"

namespace thinpipe {
namespace {

Point trained(std::uint64_t seed, double accuracy, Status status = Status::kOk) {
  Point point;
  point.axes.seed = seed;
  point.status = status;
  const auto add = [&](const char* name, double value) {
    Metric metric;
    metric.samples = {value};
    point.metrics[name] = metric;
  };
  add("final_accuracy", accuracy);
  add("payload_bytes", 100);
  add("dense_bytes", 4000);
  add("step_time", 0.1);
  return point;
}

ArmFigures arm(const std::string& label, const std::vector<double>& accuracies) {
  Records records;
  for (std::size_t i = 0; i < accuracies.size(); ++i)
    records.points.push_back(trained(i + 1, accuracies[i]));
  return arm_figures(label, "90 %", "thinpipe train", records);
}

Expectation expectation(double least, double most) {
  return {.says = "it helps", .arm = "with", .than = "without", .least = least, .most = most};
}

Appeared appeared(const std::vector<double>& with, const std::vector<double>& without, double least,
                  double most) {
  return judge(expectation(least, most), {arm("with", with), arm("without", without)}).appeared;
}

constexpr double kNone = std::numeric_limits<double>::infinity();

TEST(Judge, IntervalsOfPairedDifferencesDecide) {
  // Seeds differ by far more than arms: only the pairs tell.
  const std::vector<double> without{0.50, 0.70, 0.90}, with{0.52, 0.721, 0.919};
  EXPECT_EQ(appeared(with, without, 1, kNone), Appeared::kYes);
  EXPECT_EQ(appeared(with, without, -kNone, 1), Appeared::kNo);
  EXPECT_EQ(appeared(with, without, 2, kNone), Appeared::kUnclear);
  EXPECT_EQ(appeared(with, without, -1, 1), Appeared::kNo);
  EXPECT_EQ(appeared(without, with, -kNone, -1), Appeared::kYes);
}

TEST(Judge, FewSeedsAreSaidToBeFew) {
  EXPECT_EQ(appeared({0.9}, {0.8}, 1, kNone), Appeared::kSeen);
  EXPECT_EQ(appeared({0.9}, {0.8}, 20, kNone), Appeared::kNotSeen);
}

TEST(Judge, WhatWasNotMeasuredDoesNotAppear) {
  EXPECT_EQ(appeared({}, {0.8}, -kNone, kNone), Appeared::kMissing);
  EXPECT_EQ(judge(expectation(0, 1), {arm("with", {0.9})}).appeared, Appeared::kMissing);
}

TEST(ArmFigures, TimesInDoubtCountAndFailuresDoNot) {
  Records records;
  records.points = {trained(1, 0.9), trained(2, 0.1, Status::kFailed), trained(3, 0.8, Status::kInvalid)};
  records.points[1].reasons = {"rank 1 was killed"};
  const ArmFigures figures = arm_figures("a", "", "", records);
  EXPECT_EQ(figures.seeds, (std::vector<std::uint64_t>{1, 3}));
  ASSERT_EQ(figures.complaints.size(), 1U);
  EXPECT_EQ(figures.complaints[0], "seed 2 failed: rank 1 was killed");
}

TEST(ReproductionText, FitsATerminalAndSaysWhatAppeared) {
  Reproduction reproduction{
      .name = "dgc-fig3",
      .title = "a title",
      .source = "s",
      .here = "h",
      .arms = {arm("with", {0.9, 0.91, 0.92}), arm("without", {0.8, 0.82, 0.81})},
      .findings = {}};
  reproduction.findings.push_back(judge(expectation(1, kNone), reproduction.arms));
  const std::string text = reproduction_text(reproduction);
  EXPECT_NE(text.find("yes: it helps (10.00 +-"), std::string::npos) << text;
  EXPECT_NE(text.find("91.00 +-2.48 %"), std::string::npos) << text;
  EXPECT_NE(text.find("40\n"), std::string::npos) << text;  // 4000 of 100 bytes
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1)
    EXPECT_LE(end - begin, 80U) << text.substr(begin, end - begin);
}

TEST(ReproductionPage, ShowsRuleFiguresAndCommands) {
  Reproduction reproduction{.name = "n",
                            .title = "t",
                            .source = "the paper",
                            .here = "ours",
                            .arms = {arm("with", {0.9}), arm("without", {})},
                            .findings = {}};
  reproduction.findings.push_back(judge(expectation(1, kNone), reproduction.arms));
  const std::string page = reproduction_page(reproduction);
  for (const char* part : {"# n: t", "the paper", "ours", "90 %",
                           "'with' less 'without': at least 1", "not measured", "thinpipe train"})
    EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
}

}  // namespace
}  // namespace thinpipe
