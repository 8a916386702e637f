// Scales in payloads: writers make them finite, readers insist on it.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "base/both.h"
#include "compressors/wire/bytes.h"

namespace thinpipe {

/// The nearest finite float; 0 for a NaN.
THINPIPE_BOTH inline float finite(double x) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return std::isnan(x) ? 0.0F : static_cast<float>(std::clamp(x, -kMost, kMost));
}

/// The same NaN for every NaN: which of them comes of an operation is left to the processor, and a
/// GPU's is another.
THINPIPE_BOTH inline float one_nan(float x) {
  return x != x ? std::numeric_limits<float>::quiet_NaN() : x;
}

/// @throws PayloadError unless finite.
inline void check_finite(float x, const char* what) {
  if (!std::isfinite(x)) {
    throw PayloadError(std::string(what) + " in the payload is " + std::to_string(x) +
                       "; expected a finite number");
  }
}

/// @throws PayloadError unless finite with its sign bit clear.
inline void check_scale(float scale, const char* what) {
  if (!std::isfinite(scale) || std::signbit(scale)) {
    throw PayloadError(std::string(what) + " in the payload is " + std::to_string(scale) +
                       "; expected a finite number of at least 0");
  }
}

/// The step of `levels` equal levels up to `largest`, a magnitude: at most levels times a step is
/// finite, and so is 1 / step. 0 for 0; a NaN counts as infinite.
THINPIPE_BOTH inline float level_step(float largest, float levels) {
  if (largest == 0) return 0;
  constexpr float kMost = std::numeric_limits<float>::max();
  if (!(largest <= kMost)) largest = kMost;
  // The quotient may be rounded up; one unit in the last place less and the product cannot
  // overflow.
  const float most = std::bit_cast<float>(std::bit_cast<std::uint32_t>(kMost / levels) - 1);
  return std::clamp(largest / levels, std::numeric_limits<float>::min(), most);
}

/// Nearest integer, ties to even, of |x| < 2^22: above 2^23 a float has no fraction left.
THINPIPE_BOTH inline float round_to_even(float x) {
  constexpr float kShift = 12582912;  // 1.5 * 2^23
  return (x + kShift) - kShift;
}

}  // namespace thinpipe
