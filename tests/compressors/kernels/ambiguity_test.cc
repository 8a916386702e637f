#include "compressors/kernels/select.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "tests/compressors/support/bits.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

struct Chosen {
  std::vector<std::uint32_t> positions;
  std::vector<float> values;
  std::vector<float> variances;
};

Chosen choose(const std::vector<float>& r, const std::vector<float>& q,
              const AmbiguityOptions& options, std::vector<float>& v) {
  Chosen chosen{std::vector<std::uint32_t>(r.size()), std::vector<float>(r.size()),
                std::vector<float>(r.size())};
  const std::size_t count = choose_unambiguous(r, q, options, v, chosen.positions.data(),
                                               chosen.values.data(), chosen.variances.data());
  chosen.positions.resize(count);
  chosen.values.resize(count);
  chosen.variances.resize(count);
  return chosen;
}

TEST(Ambiguity, SameAsAPlainLoop) {
  testing::for_each_target([] {
    for (const auto& [name, r] : testing::finite_inputs()) {
      if (name.starts_with("huge")) continue;  // squares overflow: below
      SCOPED_TRACE(name);
      const std::vector<float> q = testing::squares_of(r);
      for (float tau : {0.0F, 0.001F}) {
        const AmbiguityOptions options{
            .alpha = 1.5F, .zeta = 0.99F, .limit = tau > 0 ? key_above(double{tau}) : 0};
        std::vector<float> v(r.size(), 1e-8F);
        std::vector<float> expected_v = v;
        Chosen expected;
        for (std::size_t i = 0; i < r.size(); ++i) {
          expected_v[i] += q[i];
          const float squared = r[i] * r[i];
          const float scaled = 1.5F * expected_v[i];
          if (squared > scaled && (tau == 0 || std::fabs(r[i]) > tau)) {
            expected.positions.push_back(static_cast<std::uint32_t>(i));
            expected.values.push_back(r[i]);
            expected.variances.push_back(expected_v[i]);
          }
          expected_v[i] *= 0.99F;
        }
        const Chosen chosen = choose(r, q, options, v);
        EXPECT_EQ(chosen.positions, expected.positions);
        EXPECT_EQ(testing::bits(chosen.values), testing::bits(expected.values));
        EXPECT_EQ(testing::bits(chosen.variances), testing::bits(expected.variances));
        EXPECT_EQ(testing::bits(v), testing::bits(expected_v));
      }
    }
  });
}

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

TEST(Ambiguity, WhatIsNotFiniteIsChosen) {
  testing::for_each_target([] {
    for (const auto& [r, q] : {std::pair{kNan, 1.0F}, std::pair{1.0F, kNan},
                               std::pair{-kInfinity, 1.0F}, std::pair{1.0F, kInfinity},
                               std::pair{kInfinity, kInfinity}, std::pair{0.0F, kInfinity}}) {
      for (std::size_t n : {1UL, 37UL}) {
        std::vector<float> residuals(n, 1.0F);
        std::vector<float> squares(n, 2.0F);
        residuals[n / 2] = r;
        squares[n / 2] = q;
        std::vector<float> v(n, 0.0F);
        EXPECT_EQ(choose(residuals, squares, {}, v).positions,
                  std::vector<std::uint32_t>{static_cast<std::uint32_t>(n / 2)});
      }
    }
  });
}

}  // namespace
}  // namespace thinpipe
