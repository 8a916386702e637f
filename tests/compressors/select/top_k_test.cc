// The k-th key and exact top-k against a sort; k from a ratio; quantiles of distributions.
#include "compressors/select/top_k.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "compressors/kernels/keys.h"
#include "compressors/kernels/random.h"
#include "compressors/select/distributions.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/parts.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::for_each_target;
using testing::make_selection;
using testing::plain_top_k;
using testing::positions_of;

std::vector<std::vector<std::int32_t>> key_lists() {
  std::vector<std::vector<std::int32_t>> lists;
  SplitMix64 random(1);
  for (std::size_t n : {1UL, 2UL, 100UL, 4096UL, 4097UL, 20000UL, 200000UL}) {
    std::vector<std::int32_t> any(n), few(n), equal(n, 5), top(n, kMaxKey);
    for (auto& key : any) key = static_cast<std::int32_t>(random.next());
    for (auto& key : few) key = static_cast<std::int32_t>(random.below(3));
    top[0] = kMinKey + 1;
    for (auto& list : {any, few, equal, top}) lists.push_back(list);
  }
  return lists;
}

TEST(Kth, SameAsASort) {
  for (const auto& list : key_lists()) {
    auto sorted = list;
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    for (std::size_t k : {std::size_t{1}, list.size() / 1000 + 1, list.size() / 10 + 1,
                          list.size() / 2 + 1, list.size()}) {
      auto keys = list;
      EXPECT_EQ(kth_greatest(keys, std::min(k, list.size())), sorted[std::min(k, list.size()) - 1])
          << list.size() << " keys, k = " << k;
    }
  }
}

TEST(Kth, BracketHoldsTheKthAndFewOthers) {
  // The bracket allows for 4 standard deviations: with none of 300 seeds does it miss the k-th key,
  // and it is no wider than necessary.
  constexpr std::size_t kElements = 100000;
  constexpr std::size_t kSampled = 2000;
  SplitMix64 random(2);
  for (std::size_t k : {100UL, 1000UL, 10000UL}) {
    for (int round = 0; round < 100; ++round) {
      std::vector<std::int32_t> sample(kSampled);
      // Keys 0 ... kElements - 1: the k-th greatest is kElements - k.
      for (auto& key : sample) key = static_cast<std::int32_t>(random.below(kElements));
      const KeyBracket bracket = bracket_of_sample(sample, k, kElements);
      const auto kth = static_cast<std::int32_t>(kElements - k);
      EXPECT_LE(bracket.low, kth);
      EXPECT_GE(bracket.certain, kth);
      EXPECT_GE(bracket.low, kth - static_cast<std::int32_t>(4 * k + 500));
    }
  }
}

void expect_exact(const std::string& name, const std::vector<float>& x) {
  SCOPED_TRACE(name);
  TopK top_k(x.size());
  Selection selection = make_selection(x.size());
  for (KeyOrder order : {KeyOrder::kMagnitude, KeyOrder::kLargest, KeyOrder::kSmallest}) {
    for (double ratio : {0.001, 0.01, 0.1, 0.7, 1.0}) {
      const std::size_t k = target_count(ratio, x.size());
      const std::int32_t kth = top_k.select(x, order, k, selection);
      const auto expected = plain_top_k(x, order, k);
      ASSERT_EQ(positions_of(selection), expected) << "ratio " << ratio;
      for (std::size_t i = 0; i < k; ++i) {
        ASSERT_EQ(key_of(selection.values[i], order), key_of(x[expected[i]], order));
      }
      if (k == 0) continue;
      std::int32_t least = kMaxKey;
      for (std::uint32_t position : expected) least = std::min(least, key_of(x[position], order));
      ASSERT_EQ(kth, least);
    }
  }
}

TEST(TopK, ExactOnFiniteInputs) {
  for_each_target([] {
    for (const auto& [name, x] : testing::finite_inputs()) expect_exact(name, x);
  });
}

TEST(TopK, ExactOnNonFiniteInputs) {
  for (const auto& [name, x] : testing::non_finite_inputs()) expect_exact(name, x);
}

TEST(TopK, ExactWhereASampleMisleads) {
  // All large elements lie in one short range, which a sample of 1 in 32 may miss or hit too often:
  // the bracket fails on one side or the other and the histogram has to help.
  for (std::size_t start : {0UL, 777UL, 15000UL}) {
    for (std::size_t length : {1UL, 50UL, 400UL, 3000UL}) {
      std::vector<float> x = testing::bell(20000, start);
      for (std::size_t i = start; i < start + length; ++i) x[i] *= 1e6F;
      expect_exact("stretch", x);
    }
  }
}

TEST(TopK, OnePassUnlessTheSampleMisleads) {
  const auto x = testing::heavy(200000, 1);
  TopK top_k(x.size());
  Selection selection = make_selection(x.size());
  for (std::size_t k : {20UL, 200UL, 2000UL, 20000UL, 190000UL}) {
    top_k.select(x, KeyOrder::kMagnitude, k, selection);
    EXPECT_EQ(selection.passes, 1) << k;
  }
}

TEST(TargetCount, IsTheCeilingOfTheDecimalRatio) {
  EXPECT_EQ(target_count(0.001, 1000), 1U);
  EXPECT_EQ(target_count(0.001, 1001), 2U);
  EXPECT_EQ(target_count(0.07, 100), 7U);  // 0.07 * 100 = 7.000000000000001 in doubles
  EXPECT_EQ(target_count(0.001, 5), 1U);   // at least one
  EXPECT_EQ(target_count(1, 12345), 12345U);
  EXPECT_EQ(target_count(0.5, 0), 0U);  // nothing to choose from
  EXPECT_EQ(target_count(0.001, 25559081), 25560U);
}

TEST(RatioSchedule, OneRatioPerEpochThenTheFinalOne) {
  const RatioSchedule schedule{.ratio = 0.001, .warmup = {0.25, 0.0625}};
  EXPECT_EQ(schedule.at(0), 0.25);
  EXPECT_EQ(schedule.at(0.99), 0.25);
  EXPECT_EQ(schedule.at(1), 0.0625);
  EXPECT_EQ(schedule.at(2), 0.001);
  EXPECT_EQ(schedule.at(1e300), 0.001);
  EXPECT_EQ(schedule.at(-1), 0.25);
  EXPECT_EQ(schedule.greatest(), 0.25);
  EXPECT_EQ((RatioSchedule{.ratio = 0.3}).at(0), 0.3);
}

TEST(Distributions, NormalQuantile) {
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_NEAR(normal_quantile(0.025), -1.959963984540054, 1e-14);
  for (double p : {1e-12, 0.0005, 0.3, 0.9, 0.9999}) {
    EXPECT_NEAR(std::erfc(-normal_quantile(p) / std::numbers::sqrt2) / 2, p, 1e-12 * p);
  }
}

TEST(Distributions, GammaAndNormalBelow) {
  for (double x : {0.0, 1e-6, 0.3, 2.0, 40.0}) {
    EXPECT_NEAR(gamma_below(1, x), -std::expm1(-x), 1e-15);
    EXPECT_NEAR(gamma_below(0.5, x), std::erf(std::sqrt(x)), 1e-14);
    EXPECT_NEAR(gamma_below(2, x), 1 - std::exp(-x) * (1 + x), 1e-15);
    EXPECT_NEAR(normal_below(x) + normal_below(-x), 1, 1e-15);
  }
  for (double p : {1e-9, 0.2, 0.5, 0.975}) EXPECT_NEAR(normal_below(normal_quantile(p)), p, 1e-13);
}

}  // namespace

}  // namespace thinpipe
