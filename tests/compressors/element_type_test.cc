// Types of elements, and instruction sets.
#include "compressors/element_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>

#include "compressors/kernels/random.h"
#include "compressors/simd.h"
#include "hwy/targets.h"
#include "tests/base/support.h"
#include "tests/compressors/support/inputs.h"

namespace thinpipe {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kInfinity;

struct Layout {
  HalfFormat format;
  int exponent_bits, mantissa_bits;
};
constexpr Layout kLayouts[] = {{HalfFormat::kFp16, 5, 10}, {HalfFormat::kBf16, 8, 7}};

/// IEEE 754's definition in double.
double value_of(unsigned half, const Layout& layout) {
  const int bias = (1 << (layout.exponent_bits - 1)) - 1;
  const int exponent =
      static_cast<int>(half >> layout.mantissa_bits) & ((1 << layout.exponent_bits) - 1);
  const int mantissa = static_cast<int>(half) & ((1 << layout.mantissa_bits) - 1);
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, 1 - bias - layout.mantissa_bits)
                                         : std::ldexp(mantissa + (1 << layout.mantissa_bits),
                                                      exponent - bias - layout.mantissa_bits);
  return (half & 0x8000) != 0 ? -magnitude : magnitude;
}

TEST(Half, EveryOneDecodesToItsValueAndBack) {
  for (const Layout& layout : kLayouts) {
    for (unsigned half = 0; half < 0x10000; ++half) {
      const auto bits = static_cast<std::uint16_t>(half);
      if (!is_finite_half(bits, layout.format)) continue;
      ASSERT_EQ(static_cast<double>(from_half(bits, layout.format)), value_of(half, layout))
          << half;
      ASSERT_EQ(to_half(from_half(bits, layout.format), layout.format), bits);
    }
  }
}

TEST(Half, RoundsToTheNearestAndTiesToEven) {
  SplitMix64 random(1);
  for (const Layout& layout : kLayouts) {
    for (int round = 0; round < 200000; ++round) {
      // Half of them with few mantissa bits, so that ties occur.
      auto bits = static_cast<std::uint32_t>(random.next());
      if (round % 2 == 0) bits &= layout.format == HalfFormat::kFp16 ? 0xfffff000 : 0xffff8000;
      const auto x = std::bit_cast<float>(bits);
      // Beyond the greatest see below.
      if (!(std::fabs(x) <= (layout.format == HalfFormat::kFp16 ? 65504.0F : 0x1.fep127F)))
        continue;
      const std::uint16_t half = to_half(x, layout.format);
      ASSERT_TRUE(is_finite_half(half, layout.format));
      const double error = std::fabs(value_of(half, layout) - static_cast<double>(x));
      for (int step : {-1, 1}) {  // the neighbours by magnitude
        const int other = (half & 0x7fff) + step;
        if (other < 0 || !is_finite_half(static_cast<std::uint16_t>(other), layout.format))
          continue;
        const auto neighbour = static_cast<unsigned>(other) | (half & 0x8000U);
        const double distance = std::fabs(value_of(neighbour, layout) - static_cast<double>(x));
        ASSERT_LE(error, distance) << x;
        ASSERT_TRUE(error < distance || (half & 1) == 0) << x;
      }
    }
  }
}

TEST(Half, OverflowSaturatesAndNanBecomesZero) {
  constexpr float kMax = std::numeric_limits<float>::max();
  EXPECT_EQ(from_half(to_half(65536, HalfFormat::kFp16), HalfFormat::kFp16), 65504);
  EXPECT_EQ(from_half(to_half(-kInfinity, HalfFormat::kFp16), HalfFormat::kFp16), -65504);
  EXPECT_EQ(to_half(kMax, HalfFormat::kBf16), 0x7f7f);
  EXPECT_EQ(to_half(-kInfinity, HalfFormat::kBf16), 0xff7f);
  for (HalfFormat format : {HalfFormat::kFp16, HalfFormat::kBf16}) {
    EXPECT_EQ(to_half(std::numeric_limits<float>::quiet_NaN(), format), 0);
    EXPECT_EQ(to_half(-0.0F, format), 0x8000);
  }
}

TEST(Half, OverflowsToInfinityWhereItIsToShow) {
  // Halfway to the number that would come next is a tie, and the greatest number is odd.
  EXPECT_EQ(to_half_or_infinity(65519.996F, HalfFormat::kFp16), 0x7bff);
  EXPECT_EQ(to_half_or_infinity(65520, HalfFormat::kFp16), 0x7c00);
  EXPECT_EQ(to_half_or_infinity(-1e9F, HalfFormat::kFp16), 0xfc00);
  EXPECT_EQ(to_half_or_infinity(0x1.fep127F, HalfFormat::kBf16), 0x7f7f);
  EXPECT_EQ(to_half_or_infinity(0x1.ffp127F, HalfFormat::kBf16), 0x7f80);
  for (const HalfFormat format : {HalfFormat::kFp16, HalfFormat::kBf16}) {
    EXPECT_EQ(from_any_half(to_half_or_infinity(-kInfinity, format), format), -kInfinity);
    EXPECT_TRUE(std::isnan(from_any_half(to_half_or_infinity(-std::nanf("5"), format), format)));
    EXPECT_EQ(to_half_or_infinity(-std::nanf("5"), format),
              to_half_or_infinity(std::nanf("9"), format));
    for (unsigned half = 0; half < 0x10000; ++half) {
      const auto bits = static_cast<std::uint16_t>(half);
      if (is_finite_half(bits, format)) {
        ASSERT_EQ(to_half_or_infinity(from_any_half(bits, format), format), bits);
      }
    }
  }
}

TEST(Simd, EveryNamedTargetCanBeChosenAndUndone) {
  const std::vector<std::string> names = simd_targets();
  ASSERT_FALSE(names.empty());
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  EXPECT_EQ(simd_target(), names.front());
  for (const std::string& name : names) {
    set_simd_target(name);
    EXPECT_EQ(simd_target(), name);
    EXPECT_EQ(hwy::SupportedAndGeneratedTargets().size(), 1u) << name;
    EXPECT_EQ(simd_targets(), names) << "the list does not depend on the choice";
  }
  set_simd_target("best");
  EXPECT_EQ(simd_target(), names.front());
}

TEST(Simd, UnknownNameSaysWhatThereIs) {
  EXPECT_THAT(input_error([] { set_simd_target("bets"); }),
              AllOf(HasSubstr("did you mean 'best'?"), HasSubstr(simd_targets().front())));
}

}  // namespace

}  // namespace thinpipe
