// Judgements of a paper's findings: means of cells, rules on pairs of them, and the rules' text.
#include "reports/reproduction/judge.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace thinpipe {
namespace {

using Values = std::vector<double>;

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

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

MeasuredCell cell(const Values& values) {
  MeasuredCell cell;
  for (const double value : values) cell.repetitions.push_back({cell.repetitions.size(), value});
  return cell;
}

Appeared appeared(const Values& with, const Values& without, double least, double most,
                  Bounded bounded = Bounded::kDifference) {
  const MeasuredCell second = cell(without);
  return judge({.says = "", .arm = "", .least = least, .most = most, .bounded = bounded},
               cell(with), &second)
      .appeared;
}

TEST(Judge, IntervalsOfPairedDifferencesDecide) {
  // Seeds differ by far more than arms: only the pairs show a difference.
  const Values without{50, 70, 90}, with{52, 72.1, 91.9};
  EXPECT_EQ(appeared(with, without, 1, kUnbounded), Appeared::kYes);
  EXPECT_EQ(appeared(with, without, -kUnbounded, 1), Appeared::kNo);
  EXPECT_EQ(appeared(with, without, 2, kUnbounded), Appeared::kUnclear);
  EXPECT_EQ(appeared(with, without, -1, 1), Appeared::kNo);
  EXPECT_EQ(appeared(without, with, -kUnbounded, -1), Appeared::kYes);
}

TEST(Judge, RatiosArePairedAndTheirMeanIsGeometric) {
  const Values slow{10, 20, 40}, fast{5.1, 9.9, 20};
  EXPECT_EQ(appeared(slow, fast, 1.5, kUnbounded, Bounded::kRatio), Appeared::kYes);
  EXPECT_EQ(appeared(slow, fast, 3, kUnbounded, Bounded::kRatio), Appeared::kNo);
  const MeasuredCell halves = cell({1, 4}), ones = cell({2, 2});
  const JudgedFinding finding =
      judge({.says = "", .arm = "", .bounded = Bounded::kRatio}, halves, &ones);
  EXPECT_NEAR(finding.measured->value, 1, 1e-12);  // sqrt(0.5 x 2)
}

TEST(Judge, ValuesNeedNoSecondCell) {
  const Expectation near_one{
      .says = "", .arm = "", .least = 0.8, .most = 1.2, .bounded = Bounded::kValue};
  EXPECT_EQ(judge(near_one, cell({0.99, 1.01, 1}), nullptr).appeared, Appeared::kYes);
  EXPECT_EQ(judge(near_one, cell({1.5}), nullptr).appeared, Appeared::kNotSeen);
}

TEST(Judge, FewRepetitionsAreSaidToBeFew) {
  EXPECT_EQ(appeared({90}, {80}, 1, kUnbounded), Appeared::kSeen);
  EXPECT_EQ(appeared({90}, {80}, 20, kUnbounded), Appeared::kNotSeen);
}

TEST(Judge, ExactFiguresNeedNoRepetition) {
  MeasuredCell exact = cell({8.1});
  exact.exact = true;
  const Expectation expected{.says = "", .arm = "", .most = 8.38, .bounded = Bounded::kValue};
  EXPECT_EQ(judge(expected, exact, nullptr).appeared, Appeared::kYes);
}

TEST(Judge, WhatWasNotMeasuredOrIsNotTrustedDoesNotAppear) {
  EXPECT_EQ(appeared({}, {80}, -kUnbounded, kUnbounded), Appeared::kMissing);
  MeasuredCell distrusted;
  distrusted.distrusted = true;
  const MeasuredCell other = cell({1});
  EXPECT_EQ(judge({.says = "", .arm = ""}, distrusted, &other).appeared, Appeared::kDistrusted);
}

// A figure of 0 is that of a training that missed its target.
TEST(Judge, WhoAloneReachesATargetIsInfinitelySooner) {
  const auto sooner = [](const Values& one, const Values& other) {
    return appeared(one, other, 1, kUnbounded, Bounded::kRatio);
  };
  EXPECT_EQ(sooner({1, 2, 3}, {0, 0, 0}), Appeared::kYes);
  EXPECT_EQ(sooner({0, 0, 0}, {1, 2, 3}), Appeared::kNo);
  EXPECT_EQ(sooner({3, 3.1, 2.9, 0}, {1, 1, 0, 0}), Appeared::kYes);
  EXPECT_EQ(sooner({1.1, 0.9, 1}, {1, 1, 0}), Appeared::kUnclear);
  EXPECT_EQ(sooner({1, 0}, {0, 1}), Appeared::kUnclear);
  EXPECT_EQ(sooner({0}, {0}), Appeared::kUnclear);
}

TEST(RuleText, NamesCellsAndBounds) {
  EXPECT_EQ(rule_text({.says = "", .arm = "a", .than = "b", .least = -1}, "accuracy", "accuracy"),
            "'a' less 'b', accuracy: at least -1");
  EXPECT_EQ(rule_text({.says = "",
                       .arm = "a",
                       .than = "b",
                       .least = 0.5,
                       .most = 2,
                       .bounded = Bounded::kRatio},
                      "x", "y"),
            "'a', x, over 'b', y: 0.5 to 2");
  EXPECT_EQ(
      rule_text({.says = "", .arm = "a", .most = 3, .bounded = Bounded::kValue}, "bits", "bits"),
      "'a', bits: at most 3");
}

}  // namespace
}  // namespace thinpipe
