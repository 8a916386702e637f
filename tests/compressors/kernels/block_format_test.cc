#include "compressors/kernels/block_format.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace thinpipe {
namespace {

TEST(BlockFormat, HalvesRoundUp) {
  // Every half is itself; what lies a little above it becomes the next.
  for (std::uint16_t half = 0; half < 0x7bff; ++half) {
    const float value = value_of_half(half);
    ASSERT_EQ(half_at_least(value), half);
    ASSERT_EQ(half_at_least(std::nextafterf(value, 1e9F)), half + 1);
  }
  EXPECT_EQ(value_of_half(1), 0x1p-24F);
  EXPECT_EQ(value_of_half(0x3c00), 1.0F);
  EXPECT_EQ(value_of_half(0x7bff), 65504.0F);
  EXPECT_EQ(half_at_least(1e30F), 0x7bff);
}

TEST(BlockFormat, ExponentsAreThoseOfTheSpecification) {
  // MX v1.0 section 6.3: floor(log2 max) - emax, emax 2 for E2M1 and 8 for E4M3, biased by 127.
  EXPECT_EQ(exponent_for(1.0F, BlockElement::kE2M1, false), 125);
  EXPECT_EQ(exponent_for(1.99F, BlockElement::kE2M1, false), 125);
  EXPECT_EQ(exponent_for(6.0F, BlockElement::kE2M1, false), 127);
  EXPECT_EQ(exponent_for(448.0F, BlockElement::kE4M3, false), 127);
  EXPECT_EQ(exponent_for(57344.0F, BlockElement::kE5M2, false), 127);
  EXPECT_EQ(exponent_for(0.0F, BlockElement::kE2M1, false), 0);
  EXPECT_EQ(exponent_for(std::numeric_limits<float>::denorm_min(), BlockElement::kE4M3, false), 0);
  EXPECT_EQ(value_of_exponent(127), 1.0F);
  EXPECT_EQ(value_of_exponent(0), 0x1p-127F);
  EXPECT_EQ(value_of_exponent(254), 0x1p127F);
}

TEST(BlockFormat, NothingExceedsTheGreatestElementWhereRoundingIsStochastic) {
  EXPECT_EQ(exponent_for(6.0F, BlockElement::kE2M1, true), 127);
  EXPECT_EQ(exponent_for(std::nextafterf(6.0F, 7), BlockElement::kE2M1, true), 128);
  EXPECT_EQ(exponent_for(std::nextafterf(6.0F, 7), BlockElement::kE2M1, false), 127);
  EXPECT_EQ(exponent_for(8.0F, BlockElement::kE2M1, true), 128);
  EXPECT_EQ(exponent_for(0.0F, BlockElement::kE2M1, true), 0);
  for (BlockElement element : {BlockElement::kInt8, BlockElement::kInt4, BlockElement::kE4M3,
                               BlockElement::kE5M2, BlockElement::kE2M1}) {
    // All exponents there are, and denormals; mantissas on both sides of every greatest element's.
    for (int exponent = -149; exponent <= 127; ++exponent) {
      for (float mantissa : {1.0F, 1.25F, 1.5F, 1.75F, 1.984375F, 1.99F, 1.9999999F}) {
        const float most = std::ldexp(mantissa, exponent);
        if (!std::isfinite(most)) continue;
        const auto code = exponent_for(most, element, true);
        ASSERT_LE(code, 254);
        ASSERT_LE(std::ldexp(static_cast<double>(most), 127 - code), element_max(element));
        if (code == 0) continue;  // there is no smaller scale
        ASSERT_GT(std::ldexp(static_cast<double>(most), 128 - code), element_max(element));
      }
    }
  }
}

TEST(BlockFormat, SizesByHand) {
  const BlockFormat plain{.element = BlockElement::kInt4, .block = 64};
  EXPECT_EQ(coded_elements(plain, 65), 65U);
  EXPECT_EQ(code_bytes(plain, 65), 33U);
  EXPECT_EQ(block_count(plain, 65), 2U);
  const BlockFormat rotated{.element = BlockElement::kInt4, .block = 64, .hadamard = true};
  EXPECT_EQ(coded_elements(rotated, 0), 0U);
  EXPECT_EQ(coded_elements(rotated, 1), 32U);
  EXPECT_EQ(coded_elements(rotated, 33), 64U);
  EXPECT_EQ(coded_elements(rotated, 65), 96U);
  EXPECT_EQ(code_bytes(rotated, 65), 48U);
}

}  // namespace
}  // namespace thinpipe
