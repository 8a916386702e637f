// What a block of small numbers with one scale looks like.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/both.h"

namespace thinpipe {

/// One element's bits. Floats of 8 and 4 bits as in the OCP specifications OFP8 (2023) and MX v1.0
/// (2023): sign, exponent, mantissa from the highest bit down, denormals, no infinities sent.
enum class BlockElement {
  kInt8,  ///< two's complement, -127 to 127
  kInt4,  ///< two's complement, -7 to 7
  kE4M3,  ///< greatest 448; the code 0x7f is NaN
  kE5M2,  ///< greatest 57344; exponent 31 is infinite or NaN
  kE2M1,  ///< 0, 0.5, 1, 1.5, 2, 3, 4, 6
  // Levels evenly spread over a range, none of them 0 (THC): code - (2^bits - 1) / 2.
  kLevels16,
  kLevels256,
};

enum class BlockScale {
  kF32,    ///< greatest magnitude / greatest element
  kF16,    ///< the same, rounded up to a half
  kE8M0,   ///< a power of two, 8 bits: see exponent_for()
  kGiven,  ///< BlockFormat::given, written by whoever gives it
};

struct BlockFormat {
  BlockElement element = BlockElement::kInt8;
  BlockScale scale = BlockScale::kF32;
  std::size_t block = 256;  ///< elements with one scale: a power of two, 32 to kMaxBlock
  bool hadamard = false;    ///< rotate every block before it is quantised
  float given = 0;          ///< the scale of all blocks (BlockScale::kGiven): 0 or normal
  bool stochastic = false;  ///< round up with the probability of the fraction: unbiased, which
                            ///< kE8M0 pays for with a greater scale (exponent_for())
};

constexpr std::size_t kMinBlock = 32;
constexpr std::size_t kMaxBlock = 2048;

THINPIPE_BOTH constexpr int element_bits(BlockElement element) {
  return element == BlockElement::kInt4 || element == BlockElement::kE2M1 ||
                 element == BlockElement::kLevels16
             ? 4
             : 8;
}

/// The greatest magnitude of an element.
THINPIPE_BOTH constexpr float element_max(BlockElement element) {
  switch (element) {
    case BlockElement::kInt8:
      return 127;
    case BlockElement::kInt4:
      return 7;
    case BlockElement::kE4M3:
      return 448;
    case BlockElement::kE5M2:
      return 57344;
    case BlockElement::kE2M1:
      return 6;
    case BlockElement::kLevels16:
      return 7.5;
    case BlockElement::kLevels256:
      return 127.5;
  }
  return 0;
}

THINPIPE_BOTH constexpr std::size_t scale_bytes(BlockScale scale) {
  switch (scale) {
    case BlockScale::kF32:
      return 4;
    case BlockScale::kF16:
      return 2;
    case BlockScale::kE8M0:
      return 1;
    case BlockScale::kGiven:
      return 0;
  }
  return 0;
}

/// Elements that are sent for `elements` of a tensor: a rotated block at the end is filled up with
/// zeros to a power of two, at least kMinBlock.
THINPIPE_BOTH constexpr std::size_t coded_elements(const BlockFormat& format,
                                                   std::size_t elements) {
  const std::size_t tail = elements % format.block;
  if (!format.hadamard || tail == 0) return elements;
  const std::size_t full = std::bit_ceil(tail);
  return elements - tail + (full < kMinBlock ? kMinBlock : full);
}

THINPIPE_BOTH constexpr std::size_t block_count(const BlockFormat& format, std::size_t elements) {
  return (elements + format.block - 1) / format.block;
}

THINPIPE_BOTH constexpr std::size_t code_bytes(const BlockFormat& format, std::size_t elements) {
  const auto bits = static_cast<std::size_t>(element_bits(format.element));
  return (coded_elements(format, elements) * bits + 7) / 8;
}

/// The smallest half >= x, x finite and not negative; 65504 for whatever exceeds it.
THINPIPE_BOTH inline std::uint16_t half_at_least(float x) {
  if (x >= 65504.0F) return 0x7bff;
  if (x < 0x1p-14F) return static_cast<std::uint16_t>(std::ceil(x * 0x1p24F));  // denormal
  return static_cast<std::uint16_t>(((std::bit_cast<std::uint32_t>(x) + 0x1fffU) >> 13) -
                                    ((127U - 15U) << 10));
}

/// The value of a half that is finite and not negative.
THINPIPE_BOTH inline float value_of_half(std::uint16_t half) {
  if (half < 0x400) return static_cast<float>(half) * 0x1p-24F;
  return std::bit_cast<float>((static_cast<std::uint32_t>(half) << 13) + ((127U - 15U) << 23));
}

/// 2^(code - 127), code < 255.
THINPIPE_BOTH inline float value_of_exponent(std::uint8_t code) {
  return std::bit_cast<float>(code == 0 ? 0x00400000U : static_cast<std::uint32_t>(code) << 23);
}

/// The exponent code for a block whose greatest magnitude is finite, within [0, 254]:
/// floor(log2 max) - floor(log2 element_max) (MX v1.0 section 6.3). What then exceeds the greatest
/// element, of E2M1 from 6 to 8, becomes that: a bias that `stochastic` rounding must not have. It
/// takes the least exponent with which nothing exceeds, one more where max's mantissa is above the
/// greatest element's.
THINPIPE_BOTH inline std::uint8_t exponent_for(float max_magnitude, BlockElement element,
                                               bool stochastic) {
  constexpr int kBias = 127;
  const auto bits = std::bit_cast<std::int32_t>(max_magnitude);
  const auto greatest = std::bit_cast<std::int32_t>(element_max(element));
  const int exponent = (bits >> 23) - (greatest >> 23);
  const bool exceeds = (bits & 0x7fffff) > (greatest & 0x7fffff);
  return static_cast<std::uint8_t>(std::max(0, exponent + kBias + (stochastic && exceeds ? 1 : 0)));
}

/// max / element_max, at least 2^-126 so that its reciprocal is finite; 0 for a block of zeros.
THINPIPE_BOTH inline float exact_scale_for(float max_magnitude, BlockElement element) {
  if (max_magnitude == 0) return 0;
  return std::max(max_magnitude / element_max(element), std::numeric_limits<float>::min());
}

}  // namespace thinpipe
