#include "workloads/trace/gradient_values.h"

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(GradientValues, Bf16IsTheUpperHalf) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float wide = widen_bf16(static_cast<std::uint16_t>(bits));
    ASSERT_EQ(std::bit_cast<std::uint32_t>(wide), bits << 16);
  }
}

// By definition: (-1)^s 2^(e-15) (1 + f/1024); for e = 0, 2^-14 f/1024; e = 31: infinity or NaN.
TEST(GradientValues, F16AsIeee754DefinesIt) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const int exponent = static_cast<int>(bits >> 10 & 31U);
    const double fraction = static_cast<double>(bits & 1023U) / 1024;
    const float found = widen_f16(static_cast<std::uint16_t>(bits));
    EXPECT_EQ(std::signbit(found), (bits & 0x8000U) != 0) << bits;
    if (exponent == 31 && fraction != 0) {
      EXPECT_TRUE(std::isnan(found)) << bits;
      continue;
    }
    double expected =
        exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
    if (exponent == 31) expected = std::numeric_limits<double>::infinity();
    EXPECT_EQ(std::abs(static_cast<double>(found)), expected) << bits;
  }
}

TEST(GradientValues, Fp32IsServedInPlaceAnd16BitsAreWidenedOnce) {
  const std::vector<float> wide = {1.5F, -2.F};
  const GradientValues in_place(std::as_bytes(std::span(wide)), GradientType::kF32);
  EXPECT_EQ(in_place.get().data(), wide.data());
  EXPECT_EQ(in_place.get().size(), 2U);
  const std::vector<std::uint16_t> narrow = {0x3FC0, 0xC000, 0x0000};  // bfloat16 1.5, -2, 0
  const GradientValues widened(std::as_bytes(std::span(narrow)), GradientType::kBF16);
  const std::span<const float> values = widened.get();
  EXPECT_EQ(std::vector<float>(values.begin(), values.end()),
            (std::vector<float>{1.5F, -2.F, 0.F}));
  EXPECT_EQ(widened.get().data(), values.data());
}

TEST(GradientValues, NamesAreThoseOfSafetensors) {
  for (const GradientType type : {GradientType::kF32, GradientType::kBF16, GradientType::kF16}) {
    GradientType parsed = GradientType::kF32;
    EXPECT_TRUE(parse_gradient_type(gradient_type_name(type), parsed));
    EXPECT_EQ(parsed, type);
  }
  GradientType untouched = GradientType::kF16;
  EXPECT_FALSE(parse_gradient_type("F64", untouched));
  EXPECT_EQ(untouched, GradientType::kF16);
}

}  // namespace
}  // namespace thinpipe
