#include "harness/worker/projections.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace thinpipe {
namespace {

using nlohmann::json;

// Three ranks' arrays of two pieces (3000 and 10 elements) and their mean in single precision, as a
// ring all-reduce has it: sums in some order, then one division.
struct Case {
  std::vector<std::vector<float>> sent;
  std::vector<float> mean;

  Case() : sent(3, std::vector<float>(3010)), mean(3010) {
    std::mt19937 generator(1);
    std::normal_distribution<float> normal;
    for (auto& rank : sent)
      for (float& value : rank) value = normal(generator);
    for (std::size_t i = 0; i < mean.size(); ++i)
      mean[i] = (sent[2][i] + sent[0][i] + sent[1][i]) / 3;
  }
  static json pieces(const std::vector<float>& values) {
    const std::span<const float> all(values);
    return {project(all.first(3000), 7), project(all.subspan(3000), 8)};
  }
  double error() const { return error_with(mean); }
  double error_with(const std::vector<float>& result) const {
    std::vector<json> contributions;
    for (const auto& rank : sent) contributions.push_back(pieces(rank));
    const auto largest = [&](std::size_t from, std::size_t size) {
      float most = 0;
      for (std::size_t i = from; i < from + size; ++i) most = std::max(most, std::fabs(result[i]));
      return most;
    };
    const json scale = {largest(0, 3000), largest(3000, 10)};
    return projected_error(contributions, {pieces(mean), pieces(result)}, {scale, scale});
  }
};

TEST(Projections, OneNumberABlock) {
  const std::vector<float> values(2 * kProjectedBlock + 1, 1.0F);
  EXPECT_EQ(project(values, 1).size(), 3U);
  EXPECT_TRUE(project({}, 1).empty());
  EXPECT_EQ(project(values, 1), project(values, 1));
  EXPECT_NE(project(values, 1), project(values, 2));
}

// weights of 0.5 to 1.5: an element alone shows its own weight.
TEST(Projections, WeightsAreNeverSmall) {
  double least = 2, most = 0;
  int negative = 0;
  for (std::size_t i = 0; i < kProjectedBlock; ++i) {
    std::vector<float> one(kProjectedBlock);
    one[i] = 1;
    const double weight = project(one, 3)[0];
    least = std::min(least, std::fabs(weight));
    most = std::max(most, std::fabs(weight));
    negative += weight < 0 ? 1 : 0;
  }
  EXPECT_GE(least, 0.5);
  EXPECT_LE(most, 1.5);
  EXPECT_NEAR(negative, 512, 80);  // five standard deviations of a fair coin
}

TEST(Projections, RoundingIsFarBelowTheTolerance) {
  EXPECT_LT(Case().error(), 1e-6);  // runs fail above 1e-5
}

TEST(Projections, EveryWrongElementShows) {
  const Case right;
  for (const std::size_t at : {0, 1023, 1024, 2999, 3000, 3009}) {
    std::vector<float> wrong = right.mean;
    wrong[at] += 1e-3F;
    EXPECT_GT(right.error_with(wrong), 1e-4) << at;
  }
}

TEST(Projections, MisplacedDoubledAndLostPartsShow) {
  const Case right;
  std::vector<float> swapped = right.mean, lost = right.mean, doubled = right.mean;
  std::swap(swapped[10], swapped[11]);
  for (std::size_t i = 1024; i < 2048; ++i) {
    lost[i] -= right.sent[1][i] / 3;
    doubled[i] += right.sent[1][i] / 3;
  }
  for (const auto& wrong : {swapped, lost, doubled}) EXPECT_GT(right.error_with(wrong), 1e-3);
}

TEST(Projections, WhatIsNotFiniteOrMissingIsWrong) {
  const Case right;
  std::vector<float> wrong = right.mean;
  wrong[5] = std::nanf("");
  EXPECT_TRUE(std::isinf(right.error_with(wrong)));
  wrong[5] = INFINITY;
  EXPECT_TRUE(std::isinf(right.error_with(wrong)));
  const json piece = Case::pieces(right.mean), scale = {1.0, 1.0};
  EXPECT_TRUE(std::isinf(projected_error({piece, json::array()}, {piece}, {scale})));
  EXPECT_TRUE(std::isinf(projected_error({piece}, {{{nullptr}}}, {scale})));
}

}  // namespace
}  // namespace thinpipe
