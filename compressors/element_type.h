// Types of the elements that all-reduces sum.
#pragma once

#include <cstddef>
#include <stdexcept>

#include "compressors/encode/half.h"

namespace thinpipe {

enum class ElementType {
  kFloat32,
  kFloat16,   ///< IEEE 754 binary16
  kBfloat16,  ///< the upper half of a binary32
};

constexpr std::size_t size_of(ElementType type) {
  return type == ElementType::kFloat32 ? sizeof(float) : sizeof(std::uint16_t);
}

/// The format of a 16-bit type.
constexpr HalfFormat half_format(ElementType type) {
  if (type == ElementType::kFloat32) throw std::logic_error("32-bit floats are no 16-bit floats");
  return type == ElementType::kFloat16 ? HalfFormat::kFp16 : HalfFormat::kBf16;
}

/// The nearest number of the type, or an infinity (to_half_or_infinity).
inline float rounded(float value, ElementType type) {
  if (type == ElementType::kFloat32) return value;
  return from_any_half(to_half_or_infinity(value, half_format(type)), half_format(type));
}

/// "fp32", "fp16", "bf16".
constexpr const char* to_string(ElementType type) {
  if (type == ElementType::kFloat32) return "fp32";
  return type == ElementType::kFloat16 ? "fp16" : "bf16";
}

}  // namespace thinpipe
