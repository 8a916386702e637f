// Sums and statistics against plain loops, also of 16-bit floats.
#include "compressors/kernels/sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "base/both.h"
#include "compressors/kernels/keys.h"
#include "compressors/kernels/parallel.h"
#include "compressors/kernels/quantize.h"
#include "compressors/kernels/random.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::bell;
using testing::bits;
using testing::for_each_target;

constexpr std::size_t kSizes[] = {0, 1, 3, 4, 15, 16, 17, 100, 1003};

TEST(Accumulate, SameBitsAsAPlainLoop) {
  for_each_target([] {
    for (std::size_t n : kSizes) {
      for (const auto& [decay, scale] : {std::pair{1.0F, 1.0F}, std::pair{0.9F, 0.3F}}) {
        const auto g = bell(n, 1);
        auto r = bell(n, 2);
        auto expected = r;
        for (std::size_t i = 0; i < n; ++i) {
          const float kept = decay * expected[i];
          const float fresh = scale * g[i];
          expected[i] = kept + fresh;
        }
        accumulate(g, decay, scale, r);
        EXPECT_EQ(bits(r), bits(expected));
      }
    }
  });
}

TEST(Accumulate, MomentumAndNesterovSameBitsAsPlainLoops) {
  for_each_target([] {
    for (std::size_t n : kSizes) {
      const auto g = bell(n, 1);
      for (bool nesterov : {false, true}) {
        auto u = bell(n, 2);
        auto v = bell(n, 3);
        auto plain_u = u;
        auto plain_v = v;
        for (std::size_t i = 0; i < n; ++i) {
          const float fresh = 0.25F * g[i];
          if (nesterov) {
            plain_u[i] = 0.9F * (plain_u[i] + fresh);
            plain_v[i] = plain_v[i] + plain_u[i] + fresh;
          } else {
            const float kept = 0.9F * plain_u[i];
            plain_u[i] = kept + fresh;
            plain_v[i] = plain_v[i] + plain_u[i];
          }
        }
        (nesterov ? accumulate_nesterov : accumulate_momentum)(g, 0.9F, 0.25F, u, v);
        EXPECT_EQ(bits(u), bits(plain_u));
        EXPECT_EQ(bits(v), bits(plain_v));
      }
    }
  });
}

// As on a GPU, whatever the bits of the operands and wherever in a vector they are.
TEST(Accumulate, EveryNanOfASumHasTheSameBits) {
  constexpr std::size_t kElements = 37;
  const std::vector<std::uint32_t> nans = {0x7fc00000, 0xffc00000, 0x7fe12345, 0x7f800001,
                                           0xffffffff};
  for_each_target([&] {
    for (const float decay : {1.0F, 0.5F}) {
      auto g = bell(kElements, 1), r = bell(kElements, 2);
      std::vector<std::size_t> at;
      for (std::size_t i = 0; i < 2 * nans.size(); ++i) {
        at.push_back(3 * i);
        (i % 2 == 0 ? g : r)[at.back()] = std::bit_cast<float>(nans[i / 2]);
      }
      at.push_back(kElements - 1);
      g[at.back()] = testing::kInfinity;
      r[at.back()] = -testing::kInfinity;
      auto u = r, v = r, nesterov_u = r, nesterov_v = r, moments = r;
      accumulate_momentum(g, 0.9F, decay, u, v);
      accumulate_nesterov(g, 0.9F, decay, nesterov_u, nesterov_v);
      const PendingSum pending{g.data(), moments.data(), kElements, decay, 1.0F};
      const float one_by_one = pending.at(at.front());
      magnitude_moments(moments, &pending);
      accumulate(g, decay, 1.0F, r);
      EXPECT_EQ(std::bit_cast<std::uint32_t>(one_by_one), kNanBits);
      for (const auto* sums : {&r, &u, &v, &nesterov_u, &nesterov_v, &moments}) {
        for (const std::size_t i : at)
          EXPECT_EQ(std::bit_cast<std::uint32_t>((*sums)[i]), kNanBits) << i;
        EXPECT_FALSE(std::isnan((*sums)[1]));
      }
    }
  });
}

TEST(Accumulate, AddScaled) {
  for_each_target([] {
    for (std::size_t n : kSizes) {
      const auto x = bell(n, 1);
      auto out = bell(n, 2);
      auto expected = out;
      for (std::size_t i = 0; i < n; ++i) {
        const float term = 0.1F * x[i];
        expected[i] += term;
      }
      add_scaled(x, 0.1F, out);
      EXPECT_EQ(bits(out), bits(expected));
    }
  });
}

TEST(Moments, AgreeWithSumsInDouble) {
  // Partial sums are floats: those of huge values overflow, as documented.
  testing::for_each_target_and_input(testing::without_huge(), [](const std::vector<float>& x) {
    double sum = 0;
    double squares = 0;
    for (const double value : x) {
      sum += std::fabs(value);
      squares += value * value;
    }
    const Moments moments = magnitude_moments(x);
    EXPECT_NEAR(moments.sum_magnitude, sum, 1e-6 * sum);
    EXPECT_EQ(static_cast<double>(moments.max_magnitude), testing::largest_magnitude(x));
    EXPECT_NEAR(sum_of_squares(x), squares, 1e-12 * squares);
  });
}

TEST(Moments, SameBitsOnEveryTarget) {
  for (std::size_t n : {64UL, 1000UL, 100003UL}) {
    const auto x = testing::heavy(n, 4);
    testing::same_on_every_target([&] {
      return std::pair(bits(magnitude_moments(x).sum_magnitude), bits(sum_of_squares(x)));
    });
  }
}

TEST(Moments, TailsAgreeWithAPlainLoopAndOnEveryTarget) {
  for (const auto& [name, x] : testing::without_huge()) {
    SCOPED_TRACE(name);
    for (double threshold : {0.0, 0.001, 0.1, 1.0}) {
      double sum = 0;
      std::size_t count = 0;
      for (const double value : x) {
        if (!(std::fabs(value) > threshold)) continue;
        sum += std::fabs(value);
        ++count;
      }
      testing::same_on_every_target([&] {
        const TailMoments tail = tail_moments(x, key_above(threshold));
        EXPECT_EQ(tail.count, count);
        EXPECT_NEAR(tail.sum_magnitude, sum, 1e-6 * sum);
        return bits(tail.sum_magnitude);
      });
    }
  }
}

TEST(Moments, SameBitsOnAnyNumberOfThreads) {
  const auto x = testing::heavy(1200001, 4);
  const Moments one = magnitude_moments(x);
  const TailMoments tail = tail_moments(x, key_above(0.01));
  for (int threads : {2, 3, 4, 7}) {
    const UseThreads use(threads);
    EXPECT_EQ(magnitude_moments(x).sum_magnitude, one.sum_magnitude);
    EXPECT_EQ(magnitude_moments(x).max_magnitude, one.max_magnitude);
    EXPECT_EQ(tail_moments(x, key_above(0.01)).sum_magnitude, tail.sum_magnitude);
    EXPECT_EQ(tail_moments(x, key_above(0.01)).count, tail.count);
  }
}

TEST(Moments, MaximumFindsNanAndInfinityAnywhere) {
  for_each_target([] {
    for (std::size_t at = 0; at < 300; at += 7) {
      auto x = testing::bell(300, 1);
      x[at] = -testing::kInfinity;
      EXPECT_TRUE(std::isinf(magnitude_moments(x).max_magnitude));
      x[(at + 100) % 300] = -testing::kNan;
      EXPECT_TRUE(std::isnan(magnitude_moments(x).max_magnitude));
    }
  });
}

void expect_sums_of_each(const std::vector<float>& x, std::size_t block) {
  std::vector<double> sums((x.size() + block - 1) / block, -1);
  sums_of_squares(x, block, sums);
  for (std::size_t b = 0; b < sums.size(); ++b) {
    const std::span<const float> own = std::span(x).subspan(b * block);
    EXPECT_EQ(bits(sums[b]), bits(sum_of_squares(own.first(std::min(block, own.size())))))
        << "block " << b << " of " << block << ", of " << x.size() << " elements";
  }
}

// 64 elements are one row of the kernel's four streams. 8192 elements are the largest block that
// needs no flush. The kernel sums 8 blocks side by side.
TEST(BlockSquares, AreThoseOfEachBlockToTheBit) {
  for_each_target([] {
    for (const std::size_t block : {1UL, 32UL, 64UL, 100UL, 2048UL, 8192UL, 16384UL}) {
      for (const std::size_t blocks : {0UL, 1UL, 7UL, 8UL, 9UL, 17UL}) {
        expect_sums_of_each(testing::heavy(blocks * block, blocks), block);
        expect_sums_of_each(testing::heavy(blocks * block + (block + 1) / 2, blocks), block);
      }
    }
  });
}

TEST(BlockSquares, OfHugeAndTinyValuesToo) {
  std::vector<float> x = testing::heavy(8 * 2048, 3);
  x[5] = std::numeric_limits<float>::max();
  x[2048] = std::numeric_limits<float>::denorm_min();
  x[3 * 2048 + 70] = testing::kInfinity;
  for_each_target([&] { expect_sums_of_each(x, 2048); });
}

TEST(NonFinite, NoneInFiniteInputs) {
  auto inputs = testing::finite_inputs();
  inputs.push_back({"greatest", std::vector<float>(100, -std::numeric_limits<float>::max())});
  testing::for_each_target_and_input(
      inputs, [](const std::vector<float>& x) { EXPECT_EQ(first_non_finite(x), kAllFinite); });
}

TEST(NonFinite, FindsTheFirst) {
  using testing::kInfinity, testing::kNan;
  for_each_target([] {
    for (std::size_t n : {1UL, 15UL, 64UL, 300UL}) {
      for (std::size_t at = 0; at < n; ++at) {
        for (float bad : {kNan, -kNan, kInfinity, -kInfinity}) {
          auto x = testing::bell(n, 2);
          x[at] = bad;
          x[n - 1] = kNan;
          ASSERT_EQ(first_non_finite(x), at);
        }
      }
    }
  });
}

constexpr HalfFormat kHalfFormats[] = {HalfFormat::kFp16, HalfFormat::kBf16};

// All of them, each beside one that is drawn.
struct HalfPairs {
  std::vector<std::uint16_t> a, b;
};

HalfPairs all_half_pairs() {
  SplitMix64 random(3);
  HalfPairs pairs;
  for (unsigned half = 0; half < 0x10000; ++half) {
    pairs.a.push_back(static_cast<std::uint16_t>(half));
    pairs.b.push_back(static_cast<std::uint16_t>(random.next()));
  }
  // Neighbours: sums that cancel, and ties.
  for (unsigned half = 0; half < 0x10000; ++half) {
    pairs.a.push_back(static_cast<std::uint16_t>(half));
    pairs.b.push_back(static_cast<std::uint16_t>((half ^ 0x8000) + random.next() % 3));
  }
  return pairs;
}

TEST(HalfSum, IsTheSumOfFloatsRoundedOnce) {
  const HalfPairs pairs = all_half_pairs();
  for_each_target([&] {
    for (const HalfFormat format : kHalfFormats)
      for (const float scale : {1.0F, 0.25F, 1.0F / 3}) {
        std::vector<std::uint16_t> sums(pairs.a.size());
        half_add(pairs.a, pairs.b, scale, format, sums);
        for (std::size_t i = 0; i < sums.size(); ++i) {
          const float sum =
              (from_any_half(pairs.a[i], format) + from_any_half(pairs.b[i], format)) * scale;
          ASSERT_EQ(sums[i], to_half_or_infinity(sum, format)) << pairs.a[i] << " " << pairs.b[i];
        }
        std::vector<std::uint16_t> in_place = pairs.a;
        half_add(in_place, pairs.b, scale, format, in_place);
        ASSERT_EQ(in_place, sums);
        // Shorter than a vector, and not where one begins.
        std::vector<std::uint16_t> few(3);
        half_add(std::span(pairs.a).subspan(1001, 3), std::span(pairs.b).subspan(1001, 3), scale,
                 format, few);
        ASSERT_TRUE(std::equal(few.begin(), few.end(), sums.begin() + 1001));
      }
  });
}

TEST(HalfSum, ScalesAndSaysWhatDidNotFit) {
  for_each_target([&] {
    for (const HalfFormat format : kHalfFormats) {
      const std::uint16_t greatest = format == HalfFormat::kFp16 ? 0x7bff : 0x7f7f;
      for (unsigned half = 0; half < 0x10000; ++half) {
        const auto one = static_cast<std::uint16_t>(half);
        const std::vector<std::uint16_t> halves(37, one);
        std::vector<std::uint16_t> scaled(halves.size());
        const bool fits = half_scale(halves, 0.125F, format, scaled);
        ASSERT_EQ(fits, (half & 0x7fff) < greatest) << half;
        ASSERT_EQ(half_fits(halves, format), fits) << half;
        const std::vector<std::uint16_t> expected(
            37, to_half_or_infinity(from_any_half(one, format) * 0.125F, format));
        ASSERT_EQ(scaled, expected) << half;
      }
      EXPECT_TRUE(half_fits({}, format));
    }
  });
}

TEST(HalfSum, UnpackingReplacesWhatWasThere) {
  for_each_target([&] {
    for (const HalfFormat format : kHalfFormats) {
      std::vector<std::uint16_t> halves;
      for (unsigned half = 0; half < 0x10000; ++half)
        if (is_finite_half(static_cast<std::uint16_t>(half), format))
          halves.push_back(static_cast<std::uint16_t>(half));
      std::vector<float> values(halves.size(), 7);
      const auto* const bytes = reinterpret_cast<const std::uint8_t*>(halves.data());
      EXPECT_TRUE(half_unpack(bytes, format, values));
      for (std::size_t i = 0; i < halves.size(); ++i)
        ASSERT_EQ(values[i], from_half(halves[i], format));
      halves[4321] = format == HalfFormat::kFp16 ? 0x7c00 : 0xff80;
      EXPECT_FALSE(half_unpack(bytes, format, values));
    }
  });
}

}  // namespace

}  // namespace thinpipe
