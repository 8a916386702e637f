// Quantisation in blocks with one scale each (ZeRO++ section 3.2; SDP4Bit section 3; OCP MX v1.0):
// one pass over memory, everything else in first-level cache.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "base/both.h"
#include "compressors/element_type.h"
#include "compressors/kernels/random.h"

namespace thinpipe {

// Format of a block of small numbers with one scale.

/// Format of one element's bits. Floats of 8 and 4 bits follow the OCP specifications OFP8 (2023)
/// and MX v1.0 (2023): sign, exponent and mantissa from the highest bit down, with denormals.
/// Infinities are never sent.
enum class BlockElement {
  kInt8,  ///< two's complement, -127 to 127
  kInt4,  ///< two's complement, -7 to 7
  kE4M3,  ///< greatest 448; the code 0x7f is NaN
  kE5M2,  ///< greatest 57344; exponent 31 is infinite or NaN
  kE2M1,  ///< 0, 0.5, 1, 1.5, 2, 3, 4, 6
  // Levels spread evenly over a range, none of which is 0 (THC). The level of a code is code -
  // (2^bits - 1) / 2.
  kLevels16,
  kLevels256,
};

enum class BlockScale {
  kF32,    ///< greatest magnitude / greatest element
  kF16,    ///< likewise, rounded up to a half
  kE8M0,   ///< a power of two, 8 bits: see exponent_for()
  kGiven,  ///< BlockFormat::given, written by the caller
};

struct BlockFormat {
  BlockElement element = BlockElement::kInt8;
  BlockScale scale = BlockScale::kF32;
  std::size_t block = 256;  ///< elements with one scale: a power of two, 32 to kMaxBlock
  bool hadamard = false;    ///< rotate every block before quantisation
  float given = 0;          ///< the scale of all blocks (BlockScale::kGiven): 0 or normal
  bool stochastic = false;  ///< round up with the probability of the fraction: unbiased, for
                            ///< which kE8M0 needs a greater scale (exponent_for())
};

constexpr std::size_t kMinBlock = 32;
constexpr std::size_t kMaxBlock = 2048;

/// Returns the bits of one element.
THINPIPE_BOTH constexpr int element_bits(BlockElement element) {
  return element == BlockElement::kInt4 || element == BlockElement::kE2M1 ||
                 element == BlockElement::kLevels16
             ? 4
             : 8;
}

/// Returns the greatest magnitude of an element.
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

/// Returns the bytes of one scale.
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

/// Returns the number of codes for `elements` elements of a tensor. If blocks are rotated, an
/// incomplete last block is padded with zeros to a power of two, at least kMinBlock.
THINPIPE_BOTH constexpr std::size_t coded_elements(const BlockFormat& format,
                                                   std::size_t elements) {
  const std::size_t tail = elements % format.block;
  if (!format.hadamard || tail == 0) return elements;
  // Not std::bit_ceil, which nvcc 13.0 computes wrongly in device code.
  std::size_t full = kMinBlock;
  while (full < tail) full *= 2;
  return elements - tail + full;
}

/// Returns the number of blocks of `elements` of a tensor.
THINPIPE_BOTH constexpr std::size_t block_count(const BlockFormat& format, std::size_t elements) {
  return (elements + format.block - 1) / format.block;
}

/// Returns the bytes of all codes of `elements` of a tensor.
THINPIPE_BOTH constexpr std::size_t code_bytes(const BlockFormat& format, std::size_t elements) {
  const auto bits = static_cast<std::size_t>(element_bits(format.element));
  return (coded_elements(format, elements) * bits + 7) / 8;
}

/// Returns the smallest half >= x, x finite and not negative; 65504 for every x above it.
THINPIPE_BOTH inline std::uint16_t half_at_least(float x) {
  if (x >= 65504.0F) return 0x7bff;
  if (x < 0x1p-14F) return static_cast<std::uint16_t>(std::ceil(x * 0x1p24F));  // denormal
  return static_cast<std::uint16_t>(((std::bit_cast<std::uint32_t>(x) + 0x1fffU) >> 13) -
                                    ((127U - 15U) << 10));
}

/// Returns 2^(code - 127), code < 255.
THINPIPE_BOTH inline float value_of_exponent(std::uint8_t code) {
  return std::bit_cast<float>(code == 0 ? 0x00400000U : static_cast<std::uint32_t>(code) << 23);
}

/// Returns the exponent code, within [0, 254], for a block whose greatest magnitude is finite:
/// floor(log2 max) - floor(log2 element_max) (MX v1.0 section 6.3). Scaled values can then exceed
/// the greatest element (for E2M1 from 6 to 8) and are clamped to it. Clamping is a bias, which
/// `stochastic` rounding must not have. With `stochastic` it therefore returns the least exponent
/// with which no value exceeds the greatest element: one more where max's mantissa is above that
/// element's mantissa.
THINPIPE_BOTH inline std::uint8_t exponent_for(float max_magnitude, BlockElement element,
                                               bool stochastic) {
  constexpr int kBias = 127;
  const auto bits = std::bit_cast<std::int32_t>(max_magnitude);
  const auto greatest = std::bit_cast<std::int32_t>(element_max(element));
  const int exponent = (bits >> 23) - (greatest >> 23);
  const bool exceeds = (bits & 0x7fffff) > (greatest & 0x7fffff);
  return static_cast<std::uint8_t>(std::max(0, exponent + kBias + (stochastic && exceeds ? 1 : 0)));
}

/// Returns max / element_max, at least 2^-126 so that its reciprocal is finite; 0 for a block of
/// zeros.
THINPIPE_BOTH inline float exact_scale_for(float max_magnitude, BlockElement element) {
  if (max_magnitude == 0) return 0;
  return std::max(max_magnitude / element_max(element), std::numeric_limits<float>::min());
}

// Writing and reading of scales.

/// A written scale, with its reciprocal; both 0 for a block of zeros.
struct WrittenScale {
  float value = 0;
  float inverse = 0;
};

/// Writes a scale of scale_bytes() bytes. Returns it.
THINPIPE_BOTH inline WrittenScale write_scale(const BlockFormat& format, float max_magnitude,
                                              std::byte* at) {
  if (format.scale == BlockScale::kE8M0) {
    const std::uint8_t code = exponent_for(max_magnitude, format.element, format.stochastic);
    std::memcpy(at, &code, sizeof code);
    return {value_of_exponent(code), value_of_exponent(static_cast<std::uint8_t>(254 - code))};
  }
  if (format.scale == BlockScale::kGiven) {
    return {format.given, format.given == 0 ? 0 : 1 / format.given};
  }
  float value = exact_scale_for(max_magnitude, format.element);
  if (format.scale == BlockScale::kF16) {
    const std::uint16_t half = half_at_least(value);
    std::memcpy(at, &half, sizeof half);
    value = from_half(half, HalfFormat::kFp16);
  } else {
    std::memcpy(at, &value, sizeof value);
  }
  return {value, value == 0 ? 0 : 1 / value};
}

/// Reads a scale. Returns a negative number where the bytes are not a valid scale.
THINPIPE_BOTH inline float read_scale(const BlockFormat& format, const std::byte* at) {
  if (format.scale == BlockScale::kGiven) return format.given;
  if (format.scale == BlockScale::kE8M0) {
    const auto code = std::to_integer<std::uint8_t>(*at);
    return code == 255 ? -1 : value_of_exponent(code);
  }
  if (format.scale == BlockScale::kF16) {
    std::uint16_t half = 0;
    std::memcpy(&half, at, sizeof half);
    return half >= 0x7c00 ? -1 : from_half(half, HalfFormat::kFp16);
  }
  float value = 0;
  std::memcpy(&value, at, sizeof value);
  return std::isfinite(value) && !std::signbit(value) ? value : -1;
}

/// A rotation that both ends know: the transform is applied to signs * x.
struct BlockRotation {
  std::span<const std::uint32_t> sign_bits = {};  ///< kMaxBlock words of 0 or 2^31; the same for
                                                  ///< every block
};

/// Encodes c: writes block_count() scales and code_bytes() bytes of codes. NaN counts as 0, and
/// magnitudes over 2^100 count as 2^100. `remainder`, where not empty, becomes c - decoded (0 where
/// that is not finite) and may be the same array as c. `key` seeds stochastic rounding.
/// @returns an upper bound on the number of elements that decode to something other than 0.
std::size_t encode_blocks(const BlockFormat& format, const BlockRotation& rotation, RandomKey key,
                          std::span<const float> c, std::span<float> remainder, std::byte* scales,
                          std::uint8_t* codes);

/// Problems found by decode_blocks.
enum class BlockProblem { kNone, kScale, kCode, kPadding };

/// Computes out += factor * decoded, for scales and codes of the right lengths. Stops at a problem:
/// a scale that is negative or not finite, a code that is not a number, padding that is not zero.
BlockProblem decode_blocks(const BlockFormat& format, const BlockRotation& rotation,
                           const std::byte* scales, const std::uint8_t* codes, float factor,
                           std::span<float> out);

// Arguments of the block kernels.

/// Blocks of a tensor to encode, from the beginning of a block on.
struct BlockEncoding {
  BlockFormat format;
  BlockRotation rotation;
  RandomKey key;
  std::size_t first = 0;  ///< index in the tensor of c's first element: random numbers depend on it
  const float* c = nullptr;
  std::size_t n = 0;
  float* remainder = nullptr;  ///< may be null, or c
  std::byte* scales = nullptr;
  std::uint8_t* codes = nullptr;
};

/// Blocks to decode; problems as for decode_blocks().
struct BlockDecoding {
  BlockFormat format;
  BlockRotation rotation;
  const std::byte* scales = nullptr;
  const std::uint8_t* codes = nullptr;
  float factor = 1;
  float* out = nullptr;
  std::size_t n = 0;
};

}  // namespace thinpipe
