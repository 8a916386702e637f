// Values drawn from a distribution, and the pool of normal numbers.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/digest.h"
#include "compressors/simd.h"
#include "tests/synthetic/ks.h"
#include "workloads/synthetic/draw.h"
#include "workloads/synthetic/normal_pool.h"

namespace thinpipe {
namespace {

constexpr RandomKey kKey{.first = 0x12345678, .second = 0x9abcdef0};

class EveryTarget : public ::testing::Test {
 protected:
  ~EveryTarget() override { set_simd_target("best"); }
};

/// Reference for QuantileTable, in double and with the family's own inverse instead of pieces.
double plain_value(const ValueDistribution& family, std::uint32_t random) {
  const double numbers = 2147483648.0;
  const double below = std::round(family.negative * numbers);
  const double above = std::min(std::round(family.positive * numbers), numbers - below);
  const double v = random & 0x7fffffff;
  const bool outer = random >> 31 == 1;
  const double high = below + above == numbers ? below : numbers - 1 - above;
  if (v >= below && v <= high && below != high) return 0;
  const bool negative = v < below || v == high;
  const double distance = negative ? std::max(below - v, 0.5) : v - high;
  const Magnitudes& side = negative ? *family.below : *family.above;
  const double share = 0.5 * distance / (negative ? below : above);
  const double magnitude = outer ? side.upper(share) : side.lower(share);
  return negative ? -magnitude : magnitude;
}

// 10^5 in probability: the error of the pieces, see docs/synthetic.md.
TEST_F(EveryTarget, ValuesAreThoseOfThePlainInverse) {
  for (const auto& [family, parameters] : closed_forms()) {
    const ValueDistribution distribution = make_family(family, parameters);
    const QuantileTable table(distribution);
    std::vector<float> drawn(4001);
    draw_values(table, 2, kKey, drawn);
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      const double plain = plain_value(distribution, paired_random(kKey, i));
      const double found = static_cast<double>(drawn[i]) / 2;
      EXPECT_EQ(found == 0, plain == 0) << family << " " << i;
      EXPECT_EQ(found < 0, plain < 0) << family << " " << i;
      const double p = exceedance(family, parameters, std::fabs(plain));
      const double q = 1 - parameters.zeros - p;
      EXPECT_NEAR(exceedance(family, parameters, std::fabs(found)), p, 2e-4 * std::min(p, q) + 1e-7)
          << family << " " << i << ": " << found << " for " << plain;
    }
  }
}

TEST_F(EveryTarget, EveryTargetGivesTheSameBits) {
  const QuantileTable zeros(make_family("gamma", {.shape = 0.3, .zeros = 0.1}));
  const QuantileTable none(make_family("student", {.dof = 5}));
  ASSERT_TRUE(zeros.has_zeros() && !none.has_zeros());
  for (const std::size_t n : {1, 15, 32, 33, 1000, 4097}) {
    for (const QuantileTable* table : {&zeros, &none}) {
      std::vector<std::vector<float>> values;
      for (const std::string& target : simd_targets()) {
        set_simd_target(target);
        draw_values(*table, 1e-3F, kKey, values.emplace_back(n));
        EXPECT_EQ(values.back(), values.front()) << target << " " << n;
      }
    }
  }
}

// Great arrays are written past the caches where they begin with a line.
TEST_F(EveryTarget, StreamedValuesAreTheSame) {
  constexpr std::size_t kMany = kStreamedBytes / sizeof(float) + 77;
  Buffer<float> streamed(kMany), stored(kMany + 1);
  const std::span<float> shifted = stored.first(kMany + 1).subspan(1);
  ASSERT_TRUE(is_streamed(streamed.first(kMany)) && !is_streamed(shifted));
  for (const double zeros : {0.0, 0.5}) {
    const QuantileTable table(make_family("laplace", {.zeros = zeros}));
    draw_values(table, 1, kKey, streamed.first(kMany));
    draw_values(table, 1, kKey, shifted);
    EXPECT_EQ(std::memcmp(streamed.data(), shifted.data(), kMany * sizeof(float)), 0);
  }
}

// Fractions of either sign that differ, and a sign without values.
TEST_F(EveryTarget, UnequalSides) {
  std::vector<float> drawn(std::size_t{1} << 18);
  const auto share = [&](auto counted) {
    return static_cast<double>(std::count_if(drawn.begin(), drawn.end(), counted)) /
           static_cast<double>(drawn.size());
  };
  const auto negative = [](float x) { return x < 0; };
  const auto positive = [](float x) { return x > 0; };
  draw_values(QuantileTable(make_empirical({-1, -2, -3, -4, -5, 6, 7, 0})), 1, kKey, drawn);
  EXPECT_NEAR(share(negative), 5.0 / 8, 0.005);
  EXPECT_NEAR(share(positive), 2.0 / 8, 0.005);
  draw_values(QuantileTable(make_empirical({1, 2, 3})), 1, kKey, drawn);
  EXPECT_EQ(share(positive), 1);
  EXPECT_EQ(*std::max_element(drawn.begin(), drawn.end()), 3);
  draw_values(QuantileTable(make_empirical({-1, -2, -3})), 1, kKey, drawn);
  EXPECT_EQ(share(negative), 1);
  draw_values(QuantileTable(make_empirical({0, 0})), 1, kKey, drawn);
  EXPECT_EQ(share(negative) + share(positive), 0);
}

TEST_F(EveryTarget, AnElementDoesNotDependOnHowManyAreDrawn) {
  const QuantileTable table(make_family("laplace", {}));
  std::vector<float> few(77), many(100000);
  draw_values(table, 1, kKey, few);
  draw_values(table, 1, kKey, many);
  EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()));
}

TEST_F(EveryTarget, SamplesHaveTheirDistribution) {
  std::vector<float> drawn(std::size_t{1} << 20);
  for (const ClosedForm& form : closed_forms()) {
    draw_values(QuantileTable(make_family(form.family, form.parameters)), 1, kKey, drawn);
    EXPECT_LT(ks_of_magnitudes(drawn, form), ks_limit(drawn.size())) << form.family;
    const auto positive =
        std::count_if(drawn.begin(), drawn.end(), [](float value) { return value > 0; });
    const double share = static_cast<double>(positive) / static_cast<double>(drawn.size());
    EXPECT_NEAR(share, (1 - form.parameters.zeros) / 2, 0.0025) << form.family;  // 5 sigma
  }
}

// Independent of the machine: a change in this test makes new values of old seeds, see kGenerator.
TEST_F(EveryTarget, ASeedMeansTheSameValuesEverywhere) {
  Digest digest;
  std::vector<float> drawn(10000);
  for (const ClosedForm& form : closed_forms()) {
    draw_values(QuantileTable(make_family(form.family, form.parameters)), 1e-3F, kKey, drawn);
    digest.add(drawn);
  }
  EXPECT_EQ(digest.value(), 15125261341391287491U);
}

// A correlation of 8192 numbers in any order would scatter by 0.011.
TEST(NormalPool, NeighboursDoNotCorrelate) {
  for (std::size_t lag = 1; lag < NormalPool::kRow; ++lag) {
    EXPECT_NEAR(normal_pool().correlation(lag), 0, 1e-3) << lag;
  }
  EXPECT_NEAR(normal_pool().correlation(0), 1, 1e-12);
}

TEST(NormalPool, EitherSignEquallyOftenAndTheFirstComeAgain) {
  const std::int16_t* pool = normal_pool().data();
  std::vector<int> count(20001);
  for (std::size_t i = 0; i < NormalPool::kSize; ++i) ++count.at(10000 + pool[i]);
  for (std::size_t i = 0; i < count.size(); ++i) EXPECT_EQ(count[i], count[20000 - i]) << i;
  for (std::size_t i = 0; i + 1 < NormalPool::kRow; ++i) {
    EXPECT_EQ(pool[i], pool[NormalPool::kSize + i]);
  }
}

// The law of a sum of three, exactly, against the normal one of the same variance.
TEST(NormalPool, SumsOfThreeAreNormal) {
  const NormalPool& pool = normal_pool();
  constexpr int kReach = 8000;  // 5 standard deviations of one
  std::vector<double> law(2 * kReach + 1);
  for (std::size_t i = 0; i < NormalPool::kSize; ++i) {
    law.at(kReach + pool.data()[i]) += 1.0 / NormalPool::kSize;
  }
  const auto with_another = [&](const std::vector<double>& one) {
    std::vector<double> sum(one.size() + law.size() - 1);
    for (std::size_t i = 0; i < law.size(); ++i) {
      if (law[i] == 0) continue;
      for (std::size_t j = 0; j < one.size(); ++j) sum[i + j] += law[i] * one[j];
    }
    return sum;
  };
  const std::vector<double> three = with_another(with_another(law));
  const auto normal = [&](double x) { return 0.5 * std::erfc(x / pool.sigma() / std::sqrt(2.0)); };
  double beyond = 0, worst = 0, variance = 0;
  for (int x = 3 * kReach; x > 0; --x) {
    const double share = three[static_cast<std::size_t>(x + 3 * kReach)];
    beyond += share;
    variance += 2 * share * x * x;
    const double expected = normal(x - 0.5);
    worst = std::max(worst, std::fabs(beyond - expected));
    // To where 26 million numbers reach.
    const double tolerance = expected > 1e-4 ? 0.01 : 0.1;
    if (expected > 1e-7) {
      EXPECT_NEAR(beyond / expected, 1, tolerance) << x / pool.sigma();
    }
  }
  EXPECT_LT(worst, 1e-4);
  EXPECT_NEAR(std::sqrt(variance) / pool.sigma(), 1, 1e-9);
}

}  // namespace

}  // namespace thinpipe
