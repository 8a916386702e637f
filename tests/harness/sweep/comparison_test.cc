#include "harness/sweep/comparison.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

namespace thinpipe {
namespace {

using nlohmann::json;
using Answers = std::vector<json>;

// Two workers' answers that agree, and what becomes of a field of one.
PointSamples compared(const std::function<void(Answers&)>& change, Answers more = {}) {
  PointSamples samples;
  Answers answers = {{{"digest", "a"}, {"error", 1e-8}}, {{"digest", "a"}, {"error", 2e-8}}};
  change(answers);
  answers.insert(answers.end(), more.begin(), more.end());
  add_comparison({json::object(), json::object()}, answers, 2, samples);
  return samples;
}

TEST(Comparison, OfRanksThatAgreeFindsNothing) {
  const PointSamples samples = compared([](Answers&) {});
  EXPECT_EQ(samples.checked_steps, 1U);
  EXPECT_EQ(samples.reference, "elements");
  EXPECT_EQ(samples.worst_error, 2e-8);
  EXPECT_TRUE(samples.identical_ranks);
  EXPECT_TRUE(faults_of(samples).empty());
}

TEST(Comparison, FindsWhatDiffers) {
  EXPECT_FALSE(faults_of(compared([](Answers& all) { all[1]["error"] = 1e-3; })).empty());
  // JSON writes NaN as null.
  EXPECT_FALSE(faults_of(compared([](Answers& all) { all[1]["error"] = nullptr; })).empty());
  EXPECT_FALSE(faults_of(compared([](Answers& all) { all[0]["outer_error"] = 1e-3; })).empty());
  EXPECT_FALSE(faults_of(compared([](Answers& all) { all[0]["outer_error"] = nullptr; })).empty());
  EXPECT_FALSE(faults_of(compared([](Answers& all) { all[1]["digest"] = "b"; })).empty());
}

TEST(Comparison, HoldsWorkersAgainstWhatServersAnswered) {
  const Answers server = {{{"error", 1e-9}, {"delta", "d"}}};
  const auto heard = [](const char* what) {
    return [what](Answers& all) {
      for (json& one : all) {
        one.erase("error");
        one["parts"] = json::array({what});
      }
    };
  };
  EXPECT_TRUE(faults_of(compared(heard("d"), server)).empty());
  EXPECT_FALSE(faults_of(compared(heard("e"), server)).empty());
  EXPECT_FALSE(faults_of(compared(heard("d"), {{{"error", 1.0}, {"delta", "d"}}})).empty());
}

// Of machines that share no memory: linear functions of contributions and results.
TEST(Comparison, TakesProjectionsWhereNoElementsAreShared) {
  const auto of = [](double result) {
    PointSamples samples;
    const auto projected = [](double value) {
      return json{{"projections", json::array({json::array({value})})}};
    };
    json answer = projected(result);
    answer["digest"] = "a";
    answer["largest"] = json::array({2.0});
    add_comparison({projected(1), projected(3)}, {answer, answer}, 2, samples);
    return samples;
  };
  EXPECT_EQ(of(2).reference, "projections");
  EXPECT_TRUE(faults_of(of(2)).empty());
  EXPECT_FALSE(faults_of(of(2.5)).empty());
}

}  // namespace

}  // namespace thinpipe
