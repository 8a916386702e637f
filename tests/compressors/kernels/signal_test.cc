// A gradient's signal beside its noise: sums with their remainders, and ambiguous elements.
#include "compressors/kernels/signal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "compressors/kernels/select.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/methods.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::bits;

/// A sum and the remainder that the plain pass over it leaves.
struct Case {
  std::vector<float> g, r, c;
  float decay, scale;

  Case(std::size_t n, float decay_of_r, float scale_of_g)
      : g(testing::heavy(n, 1)),
        r(testing::heavy(n, 2)),
        c(r),
        decay(decay_of_r),
        scale(scale_of_g) {
    accumulate(g, decay, scale, c);
  }
  PendingSum sum() {
    return {.g = g.data(), .r = r.data(), .n = g.size(), .decay = decay, .scale = scale};
  }
};

std::vector<Case> cases() {
  std::vector<Case> list;
  for (std::size_t n : {0UL, 1UL, 63UL, 1000UL, 32768UL, 70001UL}) {
    list.emplace_back(n, 1.0F, 1.0F);
    list.emplace_back(n, 0.5F, 3.0F);
  }
  return list;
}

TEST(Signal, EveryFirstPassLeavesTheSum) {
  testing::for_each_target([] {
    for (const Case& each : cases()) {
      SCOPED_TRACE(each.g.size());
      Case plain = each;
      Signal by_values(plain.sum());
      for (std::size_t i = 0; i < each.g.size(); i += 97) EXPECT_EQ(by_values.at(i), each.c[i]);
      EXPECT_EQ(bits(by_values.values()), bits(each.c));
      EXPECT_FALSE(by_values.fused());

      Case other = each;
      Signal by_moments(other.sum());
      const Moments expected = magnitude_moments(each.c);
      const Moments moments = by_moments.moments();
      EXPECT_EQ(moments.sum_magnitude, expected.sum_magnitude);
      EXPECT_EQ(moments.max_magnitude, expected.max_magnitude);
      EXPECT_TRUE(by_moments.fused());
      EXPECT_EQ(bits(other.r), bits(each.c));
      EXPECT_EQ(by_moments.moments().sum_magnitude, expected.sum_magnitude);

      Case spread = each;
      Signal by_dispersion(spread.sum());
      EXPECT_EQ(by_dispersion.signed_dispersion().squares, signed_dispersion(each.c).squares);
      EXPECT_EQ(bits(spread.r), bits(each.c));
      spread = each;
      Signal by_logs(spread.sum());
      EXPECT_EQ(by_logs.log_moments().sum_magnitude, log_moments(each.c).sum_magnitude);
      EXPECT_EQ(bits(spread.r), bits(each.c));

      Case third = each;
      Signal by_compaction(third.sum());
      const std::size_t room = each.g.size() + kCompactSlack;
      std::vector<std::uint32_t> positions(room), plain_positions(room);
      std::vector<float> values(room), plain_values(room);
      for (float limit : {0.0F, 0.001F, 0.1F}) {
        const std::size_t count =
            by_compaction.compact(key_above(limit), positions.data(), values.data());
        const std::size_t plain_count = compact(each.c, KeyOrder::kMagnitude, key_above(limit),
                                                plain_positions.data(), plain_values.data());
        ASSERT_EQ(count, plain_count);
        EXPECT_TRUE(std::equal(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count),
                               plain_values.begin()));
        EXPECT_TRUE(std::equal(positions.begin(),
                               positions.begin() + static_cast<std::ptrdiff_t>(count),
                               plain_positions.begin()));
      }
      EXPECT_EQ(bits(third.r), bits(each.c));
      if (!each.c.empty()) {
        EXPECT_EQ(by_compaction.at(0), each.c[0]);
      }
    }
  });
}

struct Chosen {
  std::vector<std::uint32_t> positions;
  std::vector<float> values;
  std::vector<float> variances;
};

Chosen choose(Signal r, const std::vector<float>& q, const AmbiguityOptions& options,
              std::vector<float>& v) {
  Chosen chosen{std::vector<std::uint32_t>(r.size()), std::vector<float>(r.size()),
                std::vector<float>(r.size())};
  const std::size_t count = r.choose_unambiguous(q, options, v, chosen.positions.data(),
                                                 chosen.values.data(), chosen.variances.data());
  chosen.positions.resize(count);
  chosen.values.resize(count);
  chosen.variances.resize(count);
  return chosen;
}

TEST(Ambiguity, SameAsAPlainLoop) {
  // For squares that overflow see below.
  testing::for_each_target_and_input(testing::without_huge(), [](const std::vector<float>& r) {
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
      const Chosen chosen = choose(Signal(r), q, options, v);
      EXPECT_EQ(chosen.positions, expected.positions);
      EXPECT_EQ(bits(chosen.values), bits(expected.values));
      EXPECT_EQ(bits(chosen.variances), bits(expected.variances));
      EXPECT_EQ(bits(v), bits(expected_v));
    }
  });
}

TEST(Ambiguity, OfASumThatThePassComputes) {
  testing::for_each_target([] {
    for (const Case& each : cases()) {
      SCOPED_TRACE(each.g.size());
      const std::vector<float> q = testing::squares_of(each.g);
      const AmbiguityOptions options{.alpha = 1.5F, .zeta = 0.99F};
      std::vector<float> expected_v(each.g.size(), 1e-8F);
      const Chosen expected = choose(Signal(each.c), q, options, expected_v);
      std::vector<float> v(each.g.size(), 1e-8F);
      Case pending = each;
      const Chosen chosen = choose(Signal(pending.sum()), q, options, v);
      EXPECT_EQ(bits(pending.r), bits(each.c));
      EXPECT_EQ(chosen.positions, expected.positions);
      EXPECT_EQ(bits(chosen.values), bits(expected.values));
      EXPECT_EQ(bits(chosen.variances), bits(expected.variances));
      EXPECT_EQ(bits(v), bits(expected_v));
    }
  });
}

TEST(Ambiguity, WhatIsNotFiniteIsChosen) {
  using testing::kInfinity, testing::kNan;
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
        EXPECT_EQ(choose(Signal(residuals), squares, {}, v).positions,
                  std::vector<std::uint32_t>{static_cast<std::uint32_t>(n / 2)});
      }
    }
  });
}

}  // namespace

}  // namespace thinpipe
