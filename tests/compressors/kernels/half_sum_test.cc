#include "compressors/kernels/quantize.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "compressors/kernels/random.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::for_each_target;

constexpr HalfFormat kHalfFormats[] = {HalfFormat::kFp16, HalfFormat::kBf16};

// All there are, each beside one that is drawn.
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
