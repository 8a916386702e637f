// Block formats against their specifications, and their kernels.
#include "compressors/kernels/blocks.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <tuple>
#include <vector>

#include "compressors/kernels/transforms.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/laws.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::bits;
using testing::for_each_target;

TEST(BlockFormat, HalvesRoundUp) {
  // Every half is itself; a value a little above it becomes the next.
  for (std::uint16_t half = 0; half < 0x7bff; ++half) {
    const float value = from_half(half, HalfFormat::kFp16);
    ASSERT_EQ(half_at_least(value), half);
    ASSERT_EQ(half_at_least(std::nextafterf(value, 1e9F)), half + 1);
  }
  EXPECT_EQ(from_half(1, HalfFormat::kFp16), 0x1p-24F);
  EXPECT_EQ(from_half(0x3c00, HalfFormat::kFp16), 1.0F);
  EXPECT_EQ(from_half(0x7bff, HalfFormat::kFp16), 65504.0F);
  EXPECT_EQ(half_at_least(1e30F), 0x7bff);
}

TEST(BlockFormat, ExponentsAreThoseOfTheSpecification) {
  // MX v1.0 section 6.3: the exponent is floor(log2 max) - emax, biased by 127. emax is 2 for E2M1
  // and 8 for E4M3.
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
    // All exponents, and denormals; mantissas on both sides of every greatest element's.
    for (int exponent = -149; exponent <= 127; ++exponent) {
      for (float mantissa : {1.0F, 1.25F, 1.5F, 1.75F, 1.984375F, 1.99F, 1.9999999F}) {
        const float most = std::ldexp(mantissa, exponent);
        if (!std::isfinite(most)) continue;
        const auto code = exponent_for(most, element, true);
        ASSERT_LE(code, 254);
        ASSERT_LE(std::ldexp(static_cast<double>(most), 127 - code), element_max(element));
        if (code == 0) continue;  // no smaller scale exists
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

struct Coded {
  std::vector<std::byte> scales;
  std::vector<std::uint8_t> codes;
  std::vector<float> remainder;
  std::vector<float> decoded;
  std::size_t nonzero = 0;
};

std::vector<std::uint32_t> signs() {
  std::vector<std::uint32_t> sign_bits(kMaxBlock);
  random_signs(3, sign_bits);
  return sign_bits;
}

Coded run(const BlockFormat& format, const std::vector<float>& c, std::uint64_t seed = 1) {
  const auto sign_bits = signs();
  Coded coded;
  coded.scales.resize(block_count(format, c.size()) * scale_bytes(format.scale));
  coded.codes.resize(code_bytes(format, c.size()));
  coded.remainder.resize(c.size());
  coded.decoded.resize(c.size(), 0.0F);
  coded.nonzero = encode_blocks(format, {.sign_bits = sign_bits}, random_key(seed, 0), c,
                                coded.remainder, coded.scales.data(), coded.codes.data());
  EXPECT_EQ(decode_blocks(format, {.sign_bits = sign_bits}, coded.scales.data(), coded.codes.data(),
                          1.0F, coded.decoded),
            BlockProblem::kNone);
  return coded;
}

/// All values of an element format that can be sent, from the definitions of the formats.
std::vector<double> values_of(BlockElement element) {
  std::vector<double> values;
  const auto floats = [&](int exponent_bits, int mantissa_bits, int bias, double most) {
    for (int e = 0; e < 1 << exponent_bits; ++e) {
      for (int m = 0; m < 1 << mantissa_bits; ++m) {
        const double fraction = m / std::ldexp(1.0, mantissa_bits);
        const double value =
            e == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, e - bias);
        if (value > most) continue;
        values.push_back(value);
        values.push_back(-value);
      }
    }
  };
  switch (element) {
    case BlockElement::kInt8:
      for (int q = -127; q <= 127; ++q) values.push_back(q);
      break;
    case BlockElement::kInt4:
      for (int q = -7; q <= 7; ++q) values.push_back(q);
      break;
    case BlockElement::kE4M3:
      floats(4, 3, 7, 448);
      break;
    case BlockElement::kE5M2:
      floats(5, 2, 15, 57344);
      break;
    case BlockElement::kE2M1:
      floats(2, 1, 1, 6);
      break;
    case BlockElement::kLevels16:
      for (int q = 0; q < 16; ++q) values.push_back(q - 7.5);
      break;
    case BlockElement::kLevels256:
      for (int q = 0; q < 256; ++q) values.push_back(q - 127.5);
      break;
  }
  return values;
}

constexpr BlockElement kBlockElements[] = {
    BlockElement::kInt8, BlockElement::kInt4,     BlockElement::kE4M3,     BlockElement::kE5M2,
    BlockElement::kE2M1, BlockElement::kLevels16, BlockElement::kLevels256};
constexpr BlockScale kScales[] = {BlockScale::kF32, BlockScale::kF16, BlockScale::kE8M0};

std::vector<testing::NamedInput> shapes() {
  return testing::finite_inputs({4, 6, 31, 32, 33, 69, 71, 65535, 65537});
}

/// The scale of a block as documented, in doubles.
double plain_scale(const BlockFormat& format, const float* c, std::size_t n) {
  double most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    most = std::max(most, std::min(std::fabs(static_cast<double>(c[i])), 0x1p100));
  }
  if (format.scale == BlockScale::kE8M0) {
    if (most == 0) return 0x1p-127;
    const int exponent = std::ilogb(most) - std::ilogb(element_max(format.element));
    return std::ldexp(1.0, std::max(exponent, -127));
  }
  if (most == 0) return 0;
  const double scale = std::max(most / static_cast<double>(element_max(format.element)), 0x1p-126);
  if (format.scale == BlockScale::kF32) return scale;
  if (scale >= 65504) return 65504;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(scale), -14) - 10);
  return std::ceil(scale / unit * (1 - 1e-7)) * unit;
}

TEST(Blocks, DecodedIsANearestValueOfTheFormat) {
  for (BlockElement element : kBlockElements) {
    const auto values = values_of(element);
    for (BlockScale scale : kScales) {
      const BlockFormat format{.element = element, .scale = scale, .block = 64};
      for (const auto& [name, c] : shapes()) {
        if (c.size() > 2000) continue;
        SCOPED_TRACE(name + " element " + std::to_string(static_cast<int>(element)) + " scale " +
                     std::to_string(static_cast<int>(scale)));
        const auto coded = run(format, c);
        std::size_t nonzero = 0;
        for (std::size_t i = 0; i < c.size(); ++i) {
          const std::size_t block = i / 64 * 64;
          const double step =
              plain_scale(format, c.data() + block, std::min(64UL, c.size() - block));
          const double target = std::clamp(static_cast<double>(c[i]), -0x1p100, 0x1p100);
          double nearest = 1e300;
          for (double value : values) {
            nearest = std::min(nearest, std::fabs(value * step - target));
          }
          const double found = static_cast<double>(coded.decoded[i]);
          // Scale, product and quotient are rounded to floats; denormals have an absolute error.
          const double tolerance =
              4e-7 * std::max(std::fabs(target), std::fabs(found)) + 0x1p-148 +
              // Levels are counted from the lowest: values that are tiny beside their distance are
              // lost.
              (element_max(element) == 7.5F || element_max(element) == 127.5F ? 1e-4 * step : 0);
          ASSERT_LE(std::fabs(found - target), nearest + tolerance) << i;
          const float left = c[i] - coded.decoded[i];
          ASSERT_EQ(coded.remainder[i], std::isfinite(left) ? left : 0.0F);
          nonzero += found != 0 ? 1 : 0;
        }
        EXPECT_LE(nonzero, coded.nonzero);
      }
    }
  }
}

TEST(Blocks, EveryCodeIsItsValue) {
  for_each_target([] {
    for (BlockElement element : kBlockElements) {
      const BlockFormat format{.element = element, .scale = BlockScale::kF32, .block = 32};
      if (element_max(element) == 7.5F || element_max(element) == 127.5F) continue;  // no 0
      const auto values = values_of(element);
      for (double value : values) {
        // With the greatest element in the block the scale is 1.
        std::vector<float> c(32, 0.0F);
        c[0] = element_max(element);
        c[5] = static_cast<float>(value);
        ASSERT_EQ(run(format, c).decoded, c);
      }
    }
  });
}

TEST(Blocks, RotatedBlocksAreQuantisedInTheRotatedBasis) {
  const auto sign_bits = signs();
  for (const auto& [name, c] : shapes()) {
    if (name.starts_with("huge")) continue;
    SCOPED_TRACE(name);
    const BlockFormat format{.element = BlockElement::kInt8, .block = 128, .hadamard = true};
    const auto coded = run(format, c);
    for (std::size_t at = 0; at < c.size(); at += 128) {
      const std::size_t size = std::min(128UL, c.size() - at);
      const std::size_t n = size == 128 ? 128 : std::max(32UL, std::bit_ceil(size));
      // Signs, matrix product, largest magnitude: in doubles.
      double squares = 0;
      double most = 0;
      for (std::size_t i = 0; i < n; ++i) {
        double sum = 0;
        for (std::size_t j = 0; j < size; ++j) {
          const double sign = sign_bits[j] != 0 ? -1 : 1;
          sum +=
              sign * (std::popcount(i & j) % 2 == 0 ? 1.0 : -1.0) * static_cast<double>(c[at + j]);
        }
        most = std::max(most, std::fabs(sum) / std::sqrt(static_cast<double>(n)));
      }
      for (std::size_t i = 0; i < size; ++i) {
        squares += std::pow(static_cast<double>(coded.decoded[at + i] - c[at + i]), 2);
      }
      // n errors of at most half a step each, and the rotation keeps the norm.
      const double step = std::max(most / 127, 0x1p-126);
      ASSERT_LE(std::sqrt(squares), 0.5 * step * std::sqrt(static_cast<double>(n)) * 1.001) << at;
    }
  }
}

TEST(Blocks, SameBytesOnEveryTargetAndInPlace) {
  auto inputs = shapes();
  for (auto& input : testing::non_finite_inputs()) {
    if (input.values.size() < 2000) inputs.push_back(std::move(input));  // a few blocks
  }
  for (BlockElement element : kBlockElements) {
    for (bool rotate : {false, true}) {
      for (bool stochastic : {false, true}) {
        const BlockFormat format{.element = element,
                                 .scale = kScales[(static_cast<int>(element) + rotate) % 3],
                                 .block = 256,
                                 .hadamard = rotate,
                                 .stochastic = stochastic};
        for (const auto& [name, c] : inputs) {
          SCOPED_TRACE(name);
          const auto [scales, codes, remainder, decoded, nonzero] =
              testing::same_on_every_target([&] {
                const Coded coded = run(format, c, 77);
                return std::tuple(coded.scales, coded.codes, bits(coded.remainder),
                                  bits(coded.decoded), coded.nonzero);
              });
          auto in_place = c;
          const auto sign_bits = signs();
          auto again_scales = scales;
          auto again = codes;
          encode_blocks(format, {.sign_bits = sign_bits}, random_key(77, 0), in_place, in_place,
                        again_scales.data(), again.data());
          ASSERT_EQ(again, codes);
          ASSERT_EQ(bits(in_place), remainder);
        }
      }
    }
  }
}

TEST(Blocks, StochasticRoundingIsUnbiased) {
  constexpr int kRounds = 4000;
  auto c = testing::bell(64, 5);
  c[7] = 7.9F;  // with the scale of nearest rounding, a power of two, over every greatest element
  for (BlockElement element : kBlockElements) {
    for (int variant = 0; variant < 4; ++variant) {
      const BlockFormat format{.element = element,
                               .scale = variant < 2 ? BlockScale::kF32 : BlockScale::kE8M0,
                               .block = 64,
                               .hadamard = variant % 2 == 1,
                               .stochastic = true};
      SCOPED_TRACE(std::to_string(static_cast<int>(element)) + ' ' + std::to_string(variant));
      testing::ErrorSums errors(c.size());
      for (int round = 0; round < kRounds; ++round) {
        errors.add(run(format, c, SplitMix64::mix(static_cast<std::uint64_t>(round))).decoded, c);
      }
      // Elements of a rotated block share the errors of its coefficients.
      errors.expect_unbiased(1e-6, !format.hadamard);
    }
  }
}

TEST(Blocks, SeesWhatNoWriterWrites) {
  const auto problem = [](const BlockFormat& format, std::size_t n, std::vector<std::byte> scales,
                          std::vector<std::uint8_t> codes) {
    std::vector<float> out(n, 0.0F);
    const auto sign_bits = signs();
    EXPECT_EQ(scales.size(), block_count(format, n) * scale_bytes(format.scale));
    EXPECT_EQ(codes.size(), code_bytes(format, n));
    return decode_blocks(format, {.sign_bits = sign_bits}, scales.data(), codes.data(), 1.0F, out);
  };
  const auto bytes = [](auto value) {
    std::vector<std::byte> result(sizeof value);
    std::memcpy(result.data(), &value, sizeof value);
    return result;
  };
  const BlockFormat int4{.element = BlockElement::kInt4, .block = 32};
  for (float scale : {-1.0F, -0.0F, testing::kNan, testing::kInfinity}) {
    EXPECT_EQ(problem(int4, 1, bytes(scale), {0}), BlockProblem::kScale);
  }
  EXPECT_EQ(problem(int4, 1, bytes(1.0F), {0x0f}), BlockProblem::kNone);
  EXPECT_EQ(problem(int4, 1, bytes(1.0F), {0x1f}), BlockProblem::kPadding);
  EXPECT_EQ(problem(int4, 2, bytes(1.0F), {0x1f}), BlockProblem::kNone);
  const BlockFormat half{.element = BlockElement::kInt8, .scale = BlockScale::kF16, .block = 32};
  EXPECT_EQ(problem(half, 1, bytes(std::uint16_t{0x7c00}), {1}), BlockProblem::kScale);
  EXPECT_EQ(problem(half, 1, bytes(std::uint16_t{0x8000}), {1}), BlockProblem::kScale);
  EXPECT_EQ(problem(half, 1, bytes(std::uint16_t{0x7bff}), {1}), BlockProblem::kNone);
  const BlockFormat mx{.element = BlockElement::kE2M1, .scale = BlockScale::kE8M0, .block = 32};
  EXPECT_EQ(problem(mx, 1, bytes(std::uint8_t{255}), {1}), BlockProblem::kScale);
  EXPECT_EQ(problem(mx, 1, bytes(std::uint8_t{254}), {1}), BlockProblem::kNone);
  const BlockFormat e4m3{.element = BlockElement::kE4M3, .block = 32};
  EXPECT_EQ(problem(e4m3, 1, bytes(1.0F), {0x7f}), BlockProblem::kCode);
  EXPECT_EQ(problem(e4m3, 1, bytes(1.0F), {0xff}), BlockProblem::kCode);
  EXPECT_EQ(problem(e4m3, 1, bytes(1.0F), {0x7e}), BlockProblem::kNone);
  const BlockFormat e5m2{.element = BlockElement::kE5M2, .block = 32};
  EXPECT_EQ(problem(e5m2, 1, bytes(1.0F), {0x7c}), BlockProblem::kCode);
  EXPECT_EQ(problem(e5m2, 1, bytes(1.0F), {0x7b}), BlockProblem::kNone);
}

}  // namespace
}  // namespace thinpipe
