// Latents, which make elements and steps depend on each other, and magnitudes.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "base/digest.h"
#include "compressors/kernels/random.h"
#include "compressors/simd.h"
#include "tests/synthetic/ks.h"
#include "workloads/synthetic/draw.h"
#include "workloads/synthetic/magnitudes.h"
#include "workloads/synthetic/tables.h"

namespace thinpipe {
namespace {

constexpr std::size_t kRow = NormalPool::kRow;
constexpr double kShare = 0.3;

class Latents : public ::testing::Test {
 protected:
  ~Latents() override { set_simd_target("best"); }
};

LatentStep step_with(double keep, double share, std::size_t step = 0) {
  return {random_stream(1, 0, "w"), random_stream(1, -1, "w"), step, keep, share};
}

/// a(i) + b(i) - c(i) of the pool, and a(i) + b(i), for latent `at`.
struct Innovation {
  Innovation(RandomKey key, std::size_t at) {
    const auto row = static_cast<std::uint32_t>(at / kRow);
    const std::uint32_t two = counter_random(key, 2 * row), one = counter_random(key, 2 * row + 1);
    const auto pool = [&](std::uint32_t bits) {
      return normal_pool().data()[bits % NormalPool::kSize + at % kRow];
    };
    plus = pool(two) + pool(two >> 16);
    sum = plus - pool(one);
  }
  int plus, sum;
};

int scaled(int value, std::int16_t weight) { return (value * weight + (1 << 14)) >> 15; }

int plain_latent(const LatentStep& step, int before, std::size_t at) {
  const int own = scaled(Innovation(step.own, at).sum, step.own_weight);
  const int common = scaled(Innovation(step.common, at).sum, step.common_weight);
  return own + common + scaled(before, step.keep);
}

/// Position of element i's latent.
std::size_t place_of(std::size_t i) {
  const std::size_t in_row = i % kRow;
  return i - in_row + (in_row < kRow / 2 ? 2 * in_row : 2 * (in_row - kRow / 2) + 1);
}

TEST_F(Latents, EveryTargetStepsAsDefined) {
  const CopulaTable zeros(make_family("student", {.dof = 5, .zeros = 0.2}));
  const CopulaTable none(make_family("student", {.dof = 5}));
  ASSERT_TRUE(zeros.has_zeros() && !none.has_zeros());
  for (const double keep : {0.0, 0.7}) {
    for (const double share : {0.0, kShare, 1.0}) {
      const LatentStep step = step_with(keep, share);
      for (const std::size_t n : {1, 31, 32, 33, 1000, 4097}) {
        std::vector<std::int16_t> before(latent_count(n));
        for (std::size_t i = 0; i < before.size(); ++i) before[i] = (i * 977) % 9001 - 4500;
        std::vector<std::int16_t> expected(before.size());
        for (std::size_t i = 0; i < before.size(); ++i) {
          expected[i] = static_cast<std::int16_t>(plain_latent(step, before[i], i));
        }
        for (const CopulaTable* table : {&zeros, &none}) {
          std::vector<std::vector<float>> values;
          for (const std::string& target : simd_targets()) {
            set_simd_target(target);
            std::vector<std::int16_t> z = before, only = before;
            step_latents(step, only);
            EXPECT_EQ(only, expected) << target << " " << n;
            step_values(step, *table, 3, z, values.emplace_back(n));
            EXPECT_EQ(z, expected) << target << " " << n;
            EXPECT_EQ(values.back(), values.front()) << target << " " << n;
          }
          for (std::size_t i = 0; i < n; ++i) {
            const std::size_t at = place_of(i);
            const auto rest = static_cast<std::uint16_t>(Innovation(step.own, at).plus * 0x9e37);
            const double v = expected[at] * 65536.0 + rest;
            const double z = (v - CopulaTable::kMiddle) / CopulaTable::kSigma;
            const double plain = 3 * copula_value(*table, z);
            EXPECT_NEAR(static_cast<double>(values[0][i]), plain, 2e-5 * std::fabs(plain)) << i;
          }
        }
      }
    }
  }
}

// Nothing is stored where nothing depends on the step before.
TEST_F(Latents, NumbersNeedNotBeKept) {
  const CopulaTable table(make_family("laplace", {}));
  const LatentStep step = step_with(0, kShare);
  std::vector<std::int16_t> z(latent_count(1001));
  std::vector<float> with(1001), without(with.size());
  step_values(step, table, 1, z, with);
  step_values(step, table, 1, {}, without);
  EXPECT_EQ(with, without);
}

TEST_F(Latents, StreamedValuesAreTheSame) {
  constexpr std::size_t kMany = kStreamedBytes / sizeof(float) + 77;
  Buffer<float> streamed(kMany), stored(kMany + 1);
  const std::span<float> shifted = stored.first(kMany + 1).subspan(1);
  ASSERT_TRUE(is_streamed(streamed.first(kMany)) && !is_streamed(shifted));
  for (const double zeros : {0.0, 0.5}) {
    const CopulaTable table(make_family("laplace", {.zeros = zeros}));
    for (const double keep : {0.0, 0.5}) {
      for (const double share : {0.0, kShare}) {
        std::vector<std::int16_t> one(latent_count(kMany), 100), other = one;
        step_values(step_with(keep, share), table, 1, one, streamed.first(kMany));
        step_values(step_with(keep, share), table, 1, other, shifted);
        EXPECT_EQ(std::memcmp(streamed.data(), shifted.data(), kMany * sizeof(float)), 0);
        EXPECT_EQ(one, other);
      }
    }
  }
}

// With any stored and common latents, and in every step: the values have their distribution.
TEST_F(Latents, ValuesKeepTheirDistribution) {
  std::vector<float> values(std::size_t{1} << 18);
  std::vector<std::int16_t> z(values.size());
  for (const ClosedForm& form : closed_forms()) {
    const CopulaTable table(make_family(form.family, form.parameters));
    for (const double keep : {0.1, 0.8}) {
      for (std::size_t step = 0; step < 3; ++step) {
        step_values(step_with(step == 0 ? 0 : keep, kShare, step), table, 1, z, values);
        EXPECT_LT(ks_of_magnitudes(values, form), ks_limit(values.size()))
            << form.family << " " << keep << " " << step;
      }
    }
  }
}

// Elements of a row have windows in common, and neighbours in the pool could correlate.
TEST_F(Latents, ElementsOfARowAreUncorrelated) {
  std::vector<float> values(std::size_t{1} << 20);
  step_values(step_with(0, kShare), CopulaTable(make_family("normal", {})), 1, {}, values);
  std::vector<float> squares;
  for (const float value : values) squares.push_back(value * value);
  for (std::size_t lag = 1; lag <= 2 * kRow; ++lag) {
    for (const auto* series : {&values, &squares}) {
      const auto all = std::span<const float>(*series);
      // 5 standard errors, and of squares the error that the pool's order leaves.
      EXPECT_NEAR(correlation(all.first(all.size() - lag), all.subspan(lag)), 0,
                  series == &values ? 0.005 : 0.01)
          << lag;
    }
  }
}

// Independent of the machine: a change in this test makes new values of old seeds, see kGenerator.
TEST_F(Latents, ASeedMeansTheSameValuesEverywhere) {
  Digest digest;
  std::vector<float> values(10000);
  for (const ClosedForm& form : closed_forms()) {
    const CopulaTable table(make_family(form.family, form.parameters));
    std::vector<std::int16_t> z(latent_count(values.size()));
    for (std::size_t step = 0; step < 2; ++step) {
      step_values(step_with(step == 0 ? 0 : 0.6, kShare, step), table, 1e-3F, z, values);
      digest.add(values);
    }
  }
  EXPECT_EQ(digest.value(), 12683483540446281828U);
}

// No two elements are alike but by chance.
TEST_F(Latents, ValuesHaveFineSteps) {
  std::vector<float> values(100000);
  step_values(step_with(0, 0), CopulaTable(make_family("laplace", {})), 1, {}, values);
  std::sort(values.begin(), values.end());
  const auto distinct = std::unique(values.begin(), values.end()) - values.begin();
  EXPECT_GT(distinct, 99000);
}

TEST(Magnitudes, QuantilesInvertTheClosedForms) {
  for (const auto& [family, parameters] : closed_forms()) {
    const ValueDistribution made = make_family(family, parameters);
    const double values = 1 - parameters.zeros;
    for (double p = 1e-9; p < 0.6; p *= 3) {
      const double upper = exceedance(family, parameters, made.above->upper(p));
      EXPECT_NEAR(upper, p * values, 1e-9 * p) << family << " exceeded by " << p;
      const double lower = 1 - exceedance(family, parameters, made.above->lower(p)) / values;
      EXPECT_NEAR(lower, p, 1e-9 * p + 1e-15) << family << " not reached by " << p;
    }
  }
}

TEST(Magnitudes, SharesOfSignsAndZeros) {
  const ValueDistribution made = make_family("bernoulli-gaussian", {.zeros = 0.9});
  EXPECT_DOUBLE_EQ(made.negative, 0.05);
  EXPECT_DOUBLE_EQ(made.positive, 0.05);
  EXPECT_TRUE(make_family("student", {.dof = 2.1}).finite_variance);
  EXPECT_FALSE(make_family("student", {.dof = 2}).finite_variance);
  EXPECT_FALSE(make_family("gpareto", {.shape = 0.5}).finite_variance);
  EXPECT_THROW(make_family("cauchy", {}), std::logic_error);
}

TEST(Magnitudes, EmpiricalQuantilesInterpolateOrderStatistics) {
  const float infinity = std::numeric_limits<float>::infinity();
  const ValueDistribution made = make_empirical({3, -1, 0, 1, 2, 4, 0, NAN, infinity, 0});
  EXPECT_DOUBLE_EQ(made.negative, 1.0 / 8);
  EXPECT_DOUBLE_EQ(made.positive, 4.0 / 8);
  // In 1, 2, 3, 4 number i lies at (i + 0.5) / 4.
  EXPECT_DOUBLE_EQ(made.above->lower(0.125), 1);
  EXPECT_DOUBLE_EQ(made.above->lower(0.25), 1.5);
  EXPECT_DOUBLE_EQ(made.above->upper(0.25), 3.5);
  EXPECT_DOUBLE_EQ(made.above->upper(1e-9), 4);
  EXPECT_DOUBLE_EQ(made.above->lower(1e-9), 1);
  EXPECT_DOUBLE_EQ(made.below->upper(0.3), 1);
  const ValueDistribution none = make_empirical({});
  EXPECT_EQ(none.negative + none.positive, 0);
  EXPECT_EQ(none.above->upper(0.1), 0);
}

}  // namespace

}  // namespace thinpipe
