// How the scale of a block is written and read.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/both.h"
#include "compressors/kernels/block_format.h"

namespace thinpipe {

/// A scale as it was written, with its reciprocal; both 0 for a block of zeros.
struct WrittenScale {
  float value = 0;
  float inverse = 0;
};

/// Writes scale_bytes() bytes.
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
    value = value_of_half(half);
  } else {
    std::memcpy(at, &value, sizeof value);
  }
  return {value, value == 0 ? 0 : 1 / value};
}

/// Negative where the scale is not one.
THINPIPE_BOTH inline float read_scale(const BlockFormat& format, const std::byte* at) {
  if (format.scale == BlockScale::kGiven) return format.given;
  if (format.scale == BlockScale::kE8M0) {
    const auto code = std::to_integer<std::uint8_t>(*at);
    return code == 255 ? -1 : value_of_exponent(code);
  }
  if (format.scale == BlockScale::kF16) {
    std::uint16_t half = 0;
    std::memcpy(&half, at, sizeof half);
    return half >= 0x7c00 ? -1 : value_of_half(half);
  }
  float value = 0;
  std::memcpy(&value, at, sizeof value);
  return std::isfinite(value) && !std::signbit(value) ? value : -1;
}

}  // namespace thinpipe
