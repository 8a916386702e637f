// Arithmetic of the value codecs exp4 and int2, shared with GPUs.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/both.h"
#include "compressors/wire/scale.h"

namespace thinpipe {

// exp4: a sign and an exponent of three bits below the greatest (Tsuzuku et al., section 4.2).

constexpr int kMaxBelow = 7;        ///< three bits
constexpr int kMinExponent = -149;  ///< of the least denormal
constexpr int kMaxExponent = 127;

/// Returns the exponent of a magnitude's bits after `rounding` was added; denormals are made normal
/// first.
THINPIPE_BOTH inline int exponent_of(std::uint32_t magnitude, std::uint32_t rounding) {
  int lifted = 0;
  if (magnitude < 0x00800000) {
    magnitude = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p24F);
    lifted = 24;
  }
  return static_cast<int>((magnitude + rounding) >> 23) - 127 - lifted;
}

/// Returns E = floor(log2 of the greatest |x| that is not NaN); kMinExponent when all are 0.
THINPIPE_BOTH inline int greatest_exponent(std::uint32_t magnitude) {
  if (magnitude == 0) return kMinExponent;
  return magnitude == 0x7f800000 ? kMaxExponent : exponent_of(magnitude, 0);
}

/// Returns e = E - log2 |x|: how far x is below the greatest exponent E. |x| is first rounded to
/// the nearer power of two, halves up. A negative result becomes 0. A result above kMaxBelow means
/// that the value is not sent.
THINPIPE_BOTH inline int exponent_below(float x, int greatest) {
  const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(x) & 0x7fffffff;
  if (magnitude == 0 || magnitude > 0x7f800000) return kMaxBelow + 1;
  if (magnitude == 0x7f800000) return 0;
  // Adding a one to the mantissa's highest bit carries into the exponent from 1.5 on.
  const int below = greatest - exponent_of(magnitude, 0x00400000);
  return below < 0 ? 0 : below;
}

/// Returns a value's code, whose highest bit is the sign.
THINPIPE_BOTH inline unsigned exp4_code(float x, int greatest) {
  const int below = exponent_below(x, greatest);
  const auto code = static_cast<unsigned>(below < kMaxBelow ? below : kMaxBelow);
  return code | (std::bit_cast<std::uint32_t>(x) >> 31) << 3;
}

/// Returns +-2^(E - e); 0 below the least denormal.
THINPIPE_BOTH inline float exp4_decoded(unsigned code, int greatest) {
  const int exponent = greatest - static_cast<int>(code & 7);
  std::uint32_t magnitude = 0;
  if (exponent >= -126) {
    magnitude = static_cast<std::uint32_t>(exponent + 127) << 23;
  } else if (exponent >= kMinExponent) {
    magnitude = std::uint32_t{1} << (exponent - kMinExponent);
  }
  return std::bit_cast<float>(magnitude | static_cast<std::uint32_t>(code & 8) << 28);
}

// int2 codes the magnitude of each value as one of its group's two levels. Both levels come from
// sums whose order GPU threads can reproduce.

/// Values per group.
constexpr std::size_t kInt2Group = 512;
/// Partial sums to which a group's values are dealt in turn; these are then added in order.
constexpr std::size_t kInt2Lanes = 64;

/// Returns |x|; a NaN counts as 0 and an infinity as the greatest float, so that sums stay finite.
THINPIPE_BOTH inline double int2_magnitude(float x) {
  return std::fabs(static_cast<double>(finite(static_cast<double>(x))));
}

/// Levels of a group's values. All magnitudes are finite.
struct Int2Levels {
  double mean = 0;  ///< of all magnitudes
  float low = 0;    ///< mean of the magnitudes below `mean`
  float high = 0;   ///< mean of the others

  /// Returns a code. Bit 0: the higher level; bit 1: negative.
  THINPIPE_BOTH std::uint32_t code(float x) const {
    return (int2_magnitude(x) < mean ? 0U : 1U) | (x < 0 ? 2U : 0U);
  }
  THINPIPE_BOTH float value(std::uint32_t code) const {
    const float magnitude = (code & 1) != 0 ? high : low;
    return (code & 2) != 0 ? -magnitude : magnitude;
  }
};

/// Sum and number of a level's magnitudes.
struct Int2Sum {
  double sum = 0;
  std::uint32_t count = 0;

  THINPIPE_BOTH void add(const Int2Sum& other) {
    sum += other.sum;
    count += other.count;
  }
  THINPIPE_BOTH float mean() const {
    return count == 0 ? 0.0F : finite(sum / static_cast<double>(count));
  }
};

}  // namespace thinpipe
