// 16-bit floats, and the types of the elements that all-reduces sum.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <stdexcept>

#include "base/both.h"

namespace thinpipe {

/// Formats of 16-bit floats. Integer operations convert them, so that every machine and every
/// vector width agrees.
enum class HalfFormat {
  kFp16,  ///< IEEE 754 binary16: 5 bits of exponent, 10 of mantissa
  kBf16,  ///< the upper half of a binary32: 8 bits of exponent, 7 of mantissa
};

/// Bit patterns of four numbers as 32-bit floats: the greatest finite fp16, the greatest finite
/// bf16, infinity (greater patterns are NaNs), and fp16's least normal number.
constexpr std::uint32_t kMaxFp16Bits = 0x477fe000;
constexpr std::uint32_t kMaxBf16Bits = 0x7f7f0000;
constexpr std::uint32_t kInfinityBits = 0x7f800000;
constexpr std::uint32_t kMinNormalFp16Bits = 0x38800000;

/// Returns the nearest 16-bit float, ties to even. Values that are too great, and infinity, become
/// the greatest finite number; a NaN becomes 0. Every result decodes to a finite number.
THINPIPE_BOTH inline std::uint16_t to_half(float x, HalfFormat format) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t sign = (bits >> 16) & 0x8000;
  std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > kInfinityBits) return 0;
  if (format == HalfFormat::kBf16) {
    if (magnitude > kMaxBf16Bits) magnitude = kMaxBf16Bits;  // std::min would take its address
    return static_cast<std::uint16_t>(sign |
                                      ((magnitude + 0x7fff + ((magnitude >> 16) & 1)) >> 16));
  }
  if (magnitude > kMaxFp16Bits) magnitude = kMaxFp16Bits;
  // The unit in the last place of the float 0.5 equals fp16's least denormal, so adding 0.5 rounds
  // the magnitude to a multiple of that denormal.
  const std::uint32_t half =
      magnitude < kMinNormalFp16Bits
          ? std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f000000
          : (magnitude - 0x38000000 + 0xfff + ((magnitude >> 13) & 1)) >> 13;
  return static_cast<std::uint16_t>(sign | half);
}

/// Returns the exact value of a 16-bit float, which must be finite.
THINPIPE_BOTH inline float from_half(std::uint16_t half, HalfFormat format) {
  const std::uint32_t bits = half;
  if (format == HalfFormat::kBf16) return std::bit_cast<float>(bits << 16);
  const std::uint32_t magnitude = bits & 0x7fff;
  const float value = magnitude < 0x400 ? static_cast<float>(magnitude) * 0x1p-24F
                                        : std::bit_cast<float>((magnitude << 13) + 0x38000000);
  return (bits & 0x8000) != 0 ? -value : value;
}

/// Returns the nearest 16-bit float, ties to even, as IEEE 754 defines it: values that are too
/// great become infinite. All NaNs become one NaN. For sums, in which overflow must be visible.
THINPIPE_BOTH inline std::uint16_t to_half_or_infinity(float x, HalfFormat format) {
  const bool fp16 = format == HalfFormat::kFp16;
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > kInfinityBits) return fp16 ? 0x7e00 : 0x7fc0;
  // The limit is halfway between the greatest finite number and the number that would follow it if
  // the exponent had no limit.
  if (magnitude < (fp16 ? kMaxFp16Bits + 0x1000 : kMaxBf16Bits + 0x8000)) return to_half(x, format);
  return static_cast<std::uint16_t>((fp16 ? 0x7c00 : 0x7f80) | ((bits >> 16) & 0x8000));
}

/// Returns the exact value of any 16-bit float, infinities and NaN included.
THINPIPE_BOTH inline float from_any_half(std::uint16_t half, HalfFormat format) {
  if (format == HalfFormat::kFp16 && (half & 0x7c00) == 0x7c00)
    return std::bit_cast<float>(((half & 0x8000U) << 16) | kInfinityBits | ((half & 0x3ffU) << 13));
  return from_half(half, format);
}

/// Returns true for a 16-bit float that is neither infinite nor NaN.
THINPIPE_BOTH inline bool is_finite_half(std::uint16_t half, HalfFormat format) {
  const std::uint16_t exponent = format == HalfFormat::kFp16 ? 0x7c00 : 0x7f80;
  return (half & exponent) != exponent;
}

/// Types of the elements that all-reduces sum.
enum class ElementType {
  kFloat32,
  kFloat16,   ///< IEEE 754 binary16
  kBfloat16,  ///< the upper half of a binary32
};

/// Returns the size of an element in bytes.
constexpr std::size_t size_of(ElementType type) {
  return type == ElementType::kFloat32 ? sizeof(float) : sizeof(std::uint16_t);
}

/// Returns the format of a 16-bit type. Throws std::logic_error for kFloat32.
constexpr HalfFormat half_format(ElementType type) {
  if (type == ElementType::kFloat32) throw std::logic_error("float32 has no 16-bit format");
  return type == ElementType::kFloat16 ? HalfFormat::kFp16 : HalfFormat::kBf16;
}

/// Returns the nearest number of the type, or an infinity (to_half_or_infinity).
inline float rounded(float value, ElementType type) {
  if (type == ElementType::kFloat32) return value;
  return from_any_half(to_half_or_infinity(value, half_format(type)), half_format(type));
}

/// Returns "fp32", "fp16" or "bf16".
constexpr const char* to_string(ElementType type) {
  if (type == ElementType::kFloat32) return "fp32";
  return type == ElementType::kFloat16 ? "fp16" : "bf16";
}

}  // namespace thinpipe
