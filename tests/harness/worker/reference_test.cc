#include "harness/worker/reference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <stdexcept>
#include <utility>

#include "base/error.h"
#include "tests/base/support.h"

namespace thinpipe {
namespace {

// With m = 1/2, rate = 2 and aggregates x = 1, 3, -2, v is 1, 3.5, -0.25, and the updates 2 (x + v
// / 2) are 3, 9.5, -4.25. The reference starts at the second update.
TEST(OuterReference, FollowsWhatTheOptimiserDoes) {
  const OuterOptions options{.momentum = 0.5F, .learning_rate = 2};
  OuterOptimiser optimiser(1, options);
  OuterReference reference(options);
  std::vector<float> update(1);
  EXPECT_EQ(reference.error_of(update), 0);  // nothing is known yet
  const std::vector<float> aggregates = {1, 3, -2}, updates = {3, 9.5, -4.25};
  for (std::size_t step = 0; step < 3; ++step) {
    const auto x = std::span(aggregates).subspan(step, 1);
    optimiser.apply(x, update);
    EXPECT_EQ(update[0], updates[step]);
    if (step > 0) reference.follow(x, optimiser.velocity(), {0, 1});
    EXPECT_EQ(reference.error_of(update), 0);
  }
  EXPECT_EQ(reference.error_of(std::vector<float>{-4.25F * 1.5F}), 0.5);
  EXPECT_TRUE(
      std::isnan(reference.error_of(std::vector<float>{std::numeric_limits<float>::quiet_NaN()})));
}

TEST(OuterReference, FindsAVelocityThatWasLost) {
  const OuterOptions options{.momentum = 0.5F, .learning_rate = 2};
  OuterOptimiser optimiser(1, options);
  OuterReference reference(options);
  const std::vector<float> x = {4};
  std::vector<float> update(1);
  optimiser.apply(x, update);
  reference.follow(x, optimiser.velocity(), {0, 1});
  optimiser.reset();
  optimiser.apply(x, update);
  reference.follow(x, optimiser.velocity(), {0, 1});
  EXPECT_GT(reference.error_of(update), 0.1);
}

// Two fragments of one element, in turn. The optimiser of the second one is at its first update
// when that of the first one is at its second.
TEST(OuterReference, FollowsOnlyTheFragmentThatWasExchanged) {
  const OuterOptions options{.momentum = 0.5F, .learning_rate = 2};
  OuterOptimiser optimiser(2, options);
  OuterReference reference(options);
  std::vector<float> update(2);
  const std::vector<std::vector<float>> aggregates = {{1, 0}, {0, 3}, {3, 0}};
  const std::vector<std::vector<float>> updates = {{3, 0}, {0, 9}, {9.5, 0}};
  for (std::size_t step = 0; step < 3; ++step) {
    const ElementRange turn{step % 2, step % 2 + 1};
    optimiser.apply(aggregates[step], update, turn);
    EXPECT_EQ(update, updates[step]);
    reference.follow(aggregates[step], optimiser.velocity(), turn);
    EXPECT_EQ(reference.error_of(update), 0);
  }
}

/// Ranks with a common folder, as processes have: each object maps files of its own.
class SharedContributionsTest : public ::testing::Test {
 protected:
  void make(int ranks, std::size_t elements) {
    for (int rank = 0; rank < ranks; ++rank)
      ranks_.push_back(
          std::make_unique<SharedContributions>(folder_.path().string(), rank, ranks, elements));
  }
  void fill(std::size_t rank, const std::vector<float>& values) {
    const std::span<float> own = ranks_[rank]->own();
    ASSERT_EQ(own.size(), values.size());
    std::copy(values.begin(), values.end(), own.begin());
  }
  /// Makes a rank for each contribution.
  void contribute(const std::vector<std::vector<float>>& contributions) {
    make(static_cast<int>(contributions.size()), contributions[0].size());
    for (std::size_t rank = 0; rank < contributions.size(); ++rank) fill(rank, contributions[rank]);
  }
  /// Returns the error that a rank finds in one result.
  double error_of(std::size_t rank, const std::vector<float>& result) {
    return ranks_[rank]->error_of(std::vector<std::span<const float>>{result});
  }

  TemporaryFolder folder_;
  std::vector<std::unique_ptr<SharedContributions>> ranks_;
};

TEST_F(SharedContributionsTest, TheMeanOfAllIsWhatEveryRankHoldsItAgainst) {
  contribute({{1, -8}, {2, 0}, {6, 2}});
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_EQ(error_of(rank, {3, -2}), 0);
    // The greatest difference, 1.5, over the greatest |mean|, 3.
    EXPECT_DOUBLE_EQ(error_of(rank, {4, -3.5}), 0.5);
  }
}

TEST_F(SharedContributionsTest, ANewStepReplacesTheOneBefore) {
  contribute({{1}, {3}});
  EXPECT_EQ(error_of(0, {2}), 0);
  fill(1, {19});  // the files stay mapped: the other rank sees it
  EXPECT_EQ(error_of(0, {10}), 0);
  EXPECT_DOUBLE_EQ(error_of(0, {2}), 0.8);
}

TEST_F(SharedContributionsTest, TheMeanIsTakenInDouble) {
  // In float 2^24 + 1 is 2^24, and the sum would end as 0.
  contribute({{0x1p24F}, {1}, {-0x1p24F}});
  EXPECT_LT(error_of(0, {1.0F / 3}), 0x1p-24);
}

// With two ranks an element is rounded twice at most. bf16: half a unit in the last place of 1 is
// 2^-8.
TEST_F(SharedContributionsTest, ASumIn16BitsIsHeldAgainstWhatRoundingAllows) {
  contribute({{1, 3, 100}, {2, -1, 100}});
  const std::vector<RoundedSum> first_two = {
      {.begin = 0, .size = 2, .type = ElementType::kBfloat16}};
  const std::vector<float> right = {1.5F, 1, 0};  // the third is not looked at
  const RoundingError none = ranks_[0]->rounding_error_of(right, first_two);
  EXPECT_EQ(none.relative, 0);
  EXPECT_EQ(none.of_bound, 0);
  // 3 and -1 are summed, and half of the sum of their magnitudes is 2. So the largest rounding
  // error is 2/128 = 2 * 2^-8 * 2.
  const std::vector<float> off = {1.5F, 1 + 2.0F / 128, 0};
  const RoundingError most = ranks_[1]->rounding_error_of(off, first_two);
  EXPECT_DOUBLE_EQ(most.relative, 2.0 / 128 / 1.5);
  EXPECT_NEAR(most.of_bound, 1, 0.01);
  EXPECT_LT(most.of_bound, 1);
  const std::vector<float> too_far = {1.5F, 1 + 2.1F / 128, 0};
  EXPECT_GT(ranks_[0]->rounding_error_of(too_far, first_two).of_bound, 1);
  const std::vector<float> nan = {std::nanf(""), 1, 0};
  EXPECT_TRUE(std::isnan(ranks_[0]->rounding_error_of(nan, first_two).of_bound));
  // Subnormal fp16 numbers are 2^-24 apart, and three times half of that is allowed.
  fill(0, {0x1p-24F, 0, 0});
  fill(1, {0, 0, 0});
  const std::vector<RoundedSum> halves = {{.begin = 0, .size = 1, .type = ElementType::kFloat16}};
  const std::vector<float> lost = {0, 0, 0};
  EXPECT_NEAR(ranks_[0]->rounding_error_of(lost, halves).of_bound, 1.0 / 3, 0.01);
}

// PowerSGD's step: the aggregate of 4 x 4 elements made of P and Q, then the means of both rounds.
// Two ranks with the same P and opposite contributions to Q, so that every figure is exact.
class TwoRoundsTest : public SharedContributionsTest {
 protected:
  void SetUp() override {
    make(2, 16 + 4 + 4);
    for (std::size_t rank = 0; rank < 2; ++rank) {
      std::vector<float> all(24);
      for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t j = 0; j < 4; ++j) all[4 * i + j] = p(i) * q(rank, j);
        all[16 + i] = p(i);
        all[20 + i] = q(rank, i);
      }
      fill(rank, all);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      mean_p_.push_back(p(i));
      mean_q_.push_back((q(0, i) + q(1, i)) / 2);
    }
    reconstruct();
  }
  static float p(std::size_t i) { return i == 0 ? 0.5F : 0.25F; }
  static float q(std::size_t rank, std::size_t j) {
    return static_cast<float>(1024 + 64 * j) + (rank == 0 ? 8.0F : -8.0F);
  }
  void reconstruct() {
    aggregate_.clear();
    for (const float row : mean_p_)
      for (const float column : mean_q_) aggregate_.push_back(row * column);
  }
  double error() { return ranks_[0]->error_of({aggregate_, mean_p_, mean_q_}); }

  std::vector<float> mean_p_, mean_q_, aggregate_;
};

TEST_F(TwoRoundsTest, RightMeansHaveNoError) {
  EXPECT_EQ(error(), 0);
  EXPECT_EQ(ranks_[1]->error_of({aggregate_, mean_p_, mean_q_}), 0);
}

TEST_F(TwoRoundsTest, AWrongFirstRoundIsSeen) {
  mean_p_[1] += 0.125F;  // of at most 0.5
  EXPECT_DOUBLE_EQ(error(), 0.25);
}

TEST_F(TwoRoundsTest, AWrongSecondRoundIsSeenThoughTheAggregateIsRight) {
  mean_q_[3] += 12;  // of at most 1216
  EXPECT_DOUBLE_EQ(error(), 12.0 / 1216);
}

TEST_F(TwoRoundsTest, EveryPieceIsMeasuredByItsOwnLargest) {
  // 2^-10 is nothing beside the aggregate's 608 or Q's 1216, but much for P's 0.5.
  mean_p_[0] += 0x1p-10F;
  EXPECT_DOUBLE_EQ(error(), 0x1p-9);
}

TEST_F(TwoRoundsTest, AMissingContributionOfOneRoundIsSeen) {
  for (float& value : mean_q_) value /= 2;  // a rank's Q lost in transit, say
  EXPECT_GT(error(), 0.4);
  reconstruct();
  EXPECT_GT(error(), 0.4);
}

TEST_F(SharedContributionsTest, NotANumberIsNeverPassedOver) {
  contribute({{1, 2}, {1, 2}});
  const std::vector<float> good = {1}, bad = {std::nanf("")};
  EXPECT_TRUE(std::isnan(ranks_[0]->error_of({bad, good})));
  fill(1, {1, std::nanf("")});
  const std::vector<float> two = {2};
  EXPECT_TRUE(std::isnan(ranks_[0]->error_of({good, two})));
}

TEST_F(SharedContributionsTest, NothingSentIsHeldAgainstZeros) {
  make(2, 1);  // new files are zeros
  EXPECT_EQ(error_of(0, {0}), 0);
  EXPECT_DOUBLE_EQ(error_of(0, {0.25F}), 0.25);
}

TEST_F(SharedContributionsTest, SizesThatDoNotFit) {
  make(1, 0);
  EXPECT_TRUE(ranks_[0]->own().empty());
  EXPECT_EQ(ranks_[0]->error_of({}), 0);
  EXPECT_THROW(error_of(0, {1}), std::logic_error);
  EXPECT_THROW(SharedContributions((folder_ / "missing").string(), 0, 1, 1), SystemError);
}

// A server has the mean of only some elements, but the relative size of its error depends on the
// means of all elements.
TEST_F(SharedContributionsTest, PlacesAreHeldAgainstTheMeanThere) {
  contribute({{1, 2, 3, -200}, {3, 2, 5, 0}});
  SharedContributions reader(folder_.path().string(), SharedContributions::kNone, 2, 4);
  const std::vector<float> last = {-100}, first = {2, 2.5};
  EXPECT_EQ(reader.error_of_places({{last, 3}}), 0);
  EXPECT_DOUBLE_EQ(reader.error_of_places({{last, 3}, {first, 0}}), 0.5 / 100);
  EXPECT_EQ(reader.error_of_places({}), 0);
  const std::vector<float> bad = {std::nanf("")};
  EXPECT_TRUE(std::isnan(reader.error_of_places({{bad, 1}})));
}

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
