// Scales in payloads: writers make them finite, readers require it.
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

/// Returns the nearest finite float; 0 for a NaN.
THINPIPE_BOTH inline float finite(double x) {
  constexpr double kMax = std::numeric_limits<float>::max();
  return std::isnan(x) ? 0.0F : static_cast<float>(std::clamp(x, -kMax, kMax));
}

/// Replaces every NaN by the same NaN, and returns other values unchanged. The bits of the NaN that
/// an operation gives depend on the processor, and differ on GPUs.
THINPIPE_BOTH inline float one_nan(float x) {
  return x != x ? std::numeric_limits<float>::quiet_NaN() : x;
}

/// Checks a value. @throws PayloadError unless it is finite.
inline void check_finite(float x, const char* what) {
  if (!std::isfinite(x)) {
    throw PayloadError(std::string(what) + " in the payload is " + std::to_string(x) +
                       "; expected a finite number");
  }
}

/// Checks a scale. @throws PayloadError unless it is finite with its sign bit clear.
inline void check_scale(float scale, const char* what) {
  if (!std::isfinite(scale) || std::signbit(scale)) {
    throw PayloadError(std::string(what) + " in the payload is " + std::to_string(scale) +
                       "; expected a finite number of at least 0");
  }
}

/// Returns the step between `levels` equally spaced levels up to `largest`, a magnitude. Both
/// levels * step and 1 / step are finite. Returns 0 if `largest` is 0. A NaN counts as infinite.
THINPIPE_BOTH inline float level_step(float largest, float levels) {
  if (largest == 0) return 0;
  constexpr float kMax = std::numeric_limits<float>::max();
  if (!(largest <= kMax)) largest = kMax;
  // kMax / levels may be rounded up, and levels * step could then overflow. Subtracting one unit in
  // the last place prevents the overflow.
  const float most = std::bit_cast<float>(std::bit_cast<std::uint32_t>(kMax / levels) - 1);
  return std::clamp(largest / levels, std::numeric_limits<float>::min(), most);
}

/// Rounds x to the nearest integer, ties to even, for |x| < 2^22. Adding a number above 2^23 does
/// the rounding, because a float above 2^23 has no fraction bits left.
THINPIPE_BOTH inline float round_to_even(float x) {
  constexpr float kShift = 12582912;  // 1.5 * 2^23
  return (x + kShift) - kShift;
}

}  // namespace thinpipe
