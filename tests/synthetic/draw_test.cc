#include "workloads/synthetic/draw.h"

#include <bit>

#include <gtest/gtest.h>

#include "compressors/simd.h"
#include "tests/synthetic/ks.h"
#include "workloads/synthetic/correlation.h"

namespace thinpipe {
namespace {

constexpr RandomKey kKey{.first = 0x12345678, .second = 0x9abcdef0};

class EveryTarget : public ::testing::Test {
 protected:
  ~EveryTarget() override { set_simd_target("best"); }
};

/// What QuantileTable promises, in double and with the family's own inverse instead of pieces.
double plain_value(const ValueDistribution& family, std::uint32_t random) {
  const double numbers = 4294967296.0;
  const double below = std::round(family.negative * numbers);
  const double above = std::round(family.positive * numbers);
  const bool negative = random < below;
  const double size = negative ? below : above;
  const double from_outside = negative ? random : numbers - 1 - random;
  if (from_outside >= size) return 0;
  const double outer = (from_outside + 0.5) / size, inner = (size - from_outside - 0.5) / size;
  const Magnitudes& side = negative ? *family.below : *family.above;
  const double magnitude = outer < 0.5 ? side.upper(outer) : side.lower(inner);
  return negative ? -magnitude : magnitude;
}

// 10^5 in probability: what the pieces are off by, see docs/synthetic.md.
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
  const QuantileTable table(make_family("gamma", {.shape = 0.3, .zeros = 0.1}));
  const QuantileTable normal(make_family("normal", {}));
  const CopulaTable copula(make_family("student", {.dof = 5, .zeros = 0.2}));
  const CopulaTable mirrored(make_family("student", {.dof = 5}));
  ASSERT_TRUE(mirrored.mirrored && normal.mirrored && !copula.mirrored && !table.mirrored);
  const NormalStep step{.own = kKey,
                        .common = {.first = 1, .second = 2},
                        .keep = 0.5F,
                        .own_weight = 0.6F,
                        .common_weight = 0.4F};
  for (const std::size_t n : {1, 15, 32, 33, 1000, 4097}) {
    std::vector<std::vector<float>> values, normals, mapped, values_of_step;
    for (const std::string& target : simd_targets()) {
      set_simd_target(target);
      draw_values(table, 1e-3F, kKey, values.emplace_back(n));
      auto& z = normals.emplace_back(n, 0.25F);
      step_normals(normal, step, z);
      map_normals(copula, 3, z, mapped.emplace_back(n));
      std::vector<float> again(n, 0.25F);
      step_values(normal, step, mirrored, 1, again, values_of_step.emplace_back(n));
      EXPECT_EQ(again, z) << target << " " << n;
      EXPECT_EQ(values_of_step.back(), values_of_step.front()) << target << " " << n;
      EXPECT_EQ(values.back(), values.front()) << target << " " << n;
      EXPECT_EQ(normals.back(), normals.front()) << target << " " << n;
      EXPECT_EQ(mapped.back(), mapped.front()) << target << " " << n;
    }
    for (std::size_t i = 0; i < n; ++i) {
      const double plain = 3 * copula_value(copula, static_cast<double>(normals[0][i]));
      EXPECT_NEAR(static_cast<double>(mapped[0][i]), plain, 2e-5 * std::fabs(plain)) << i;
      const double even = copula_value(mirrored, static_cast<double>(normals[0][i]));
      EXPECT_NEAR(static_cast<double>(values_of_step[0][i]), even, 2e-5 * std::fabs(even)) << i;
    }
  }
}

// Sizes of 2^31 are counted in another way than others; where they meet, the values must not part.
TEST_F(EveryTarget, MirroredTablesGiveTheSameAsOthers) {
  const QuantileTable mirrored(make_family("gamma", {.shape = 0.3}));
  QuantileTable other = mirrored;
  other.mirrored = false;
  std::vector<float> one(100000), two(one.size());
  draw_values(mirrored, 1, kKey, one);
  draw_values(other, 1, kKey, two);
  EXPECT_EQ(one, two);
}

// Nothing is kept where nothing depends on the step before.
TEST_F(EveryTarget, NumbersNeedNotBeKept) {
  const QuantileTable normal(make_family("normal", {}));
  const CopulaTable copula(make_family("laplace", {}));
  const NormalStep step{.own = kKey,
                        .common = {.first = 1, .second = 2},
                        .keep = 0,
                        .own_weight = 0.8F,
                        .common_weight = 0.6F};
  std::vector<float> z(1001), with(z.size()), without(z.size());
  step_values(normal, step, copula, 1, z, with);
  step_values(normal, step, copula, 1, {}, without);
  EXPECT_EQ(with, without);
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

// Innovations of equal variance in every step: what is kept and what is new add up to 1.
TEST_F(EveryTarget, NormalsStayStandardNormal) {
  const QuantileTable normal(make_family("normal", {}));
  std::vector<float> z(std::size_t{1} << 18, 0.0F);
  for (std::uint32_t i = 0; i < 6; ++i) {
    step_normals(normal,
                 {.own = random_key(1, i),
                  .common = random_key(2, i),
                  .keep = i == 0 ? 0 : 0.8F,
                  .own_weight = (i == 0 ? 1.0F : 0.6F) * std::sqrt(0.75F),
                  .common_weight = (i == 0 ? 1.0F : 0.6F) * 0.5F},
                 z);
    EXPECT_LT(ks_of_magnitudes(z, {"normal", {}}), ks_limit(z.size())) << i;
  }
}

TEST_F(EveryTarget, CopulaKeepsTheDistribution) {
  const QuantileTable normal(make_family("normal", {}));
  std::vector<float> z(std::size_t{1} << 20), values(z.size());
  draw_values(normal, 1, kKey, z);
  for (const ClosedForm& form : closed_forms()) {
    map_normals(CopulaTable(make_family(form.family, form.parameters)), 1, z, values);
    EXPECT_LT(ks_of_magnitudes(values, form), ks_limit(values.size())) << form.family;
  }
}

// Whatever machine this runs on: a change here makes new values of old seeds, see kGenerator.
TEST_F(EveryTarget, ASeedMeansTheSameValuesEverywhere) {
  std::uint64_t hash = 0xcbf29ce484222325;
  std::vector<float> drawn(10000);
  for (const ClosedForm& form : closed_forms()) {
    draw_values(QuantileTable(make_family(form.family, form.parameters)), 1e-3F, kKey, drawn);
    for (const float value : drawn) {
      hash = (hash ^ std::bit_cast<std::uint32_t>(value)) * 0x100000001b3;
    }
  }
  EXPECT_EQ(hash, 7413447192184475070U);
}

}  // namespace
}  // namespace thinpipe
