// Encodes and decodes single elements of blocks, as kernels/block_integers.cc and
// block_floats.cc do in vectors.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "base/both.h"
#include "compressors/wire/scale.h"

namespace thinpipe::cuda {

/// Returns a random word as a number in [0, 1) with 24 bits.
THINPIPE_BOTH inline float unit_of(std::uint32_t random) {
  return static_cast<float>(random >> 8) * 0x1p-24F;
}
THINPIPE_BOTH inline std::int32_t limited(std::int32_t x, std::int32_t least, std::int32_t most) {
  return x < least ? least : x > most ? most : x;
}
/// Rounds to the nearest integer, or stochastically; |x| < 2^22.
THINPIPE_BOTH inline std::int32_t rounded(float x, bool stochastic, std::uint32_t random) {
  return static_cast<std::int32_t>(stochastic ? std::floor(x + unit_of(random)) : round_to_even(x));
}

// An element type has
//   kMagnitude  the bits of a code that are all 0 if it decodes to 0
//   kHasZero    whether a code decodes to 0
//   kMaxCode    the maximum value of the kMagnitude bits

/// Integers of kBits in two's complement.
template <int kBits>
struct IntegerElement {
  static constexpr std::int32_t kMax = (1 << (kBits - 1)) - 1;
  static constexpr std::uint32_t kMagnitude = (1U << kBits) - 1;
  static constexpr std::uint32_t kMaxCode = kMagnitude;
  static constexpr bool kHasZero = true;

  THINPIPE_BOTH static std::uint32_t encode(float y, bool stochastic, std::uint32_t random) {
    constexpr float kLimit = 2 * kMax;
    const float near = y < -kLimit ? -kLimit : y > kLimit ? kLimit : y;
    const std::int32_t q = limited(rounded(near, stochastic, random), -kMax, kMax);
    return static_cast<std::uint32_t>(q) & kMagnitude;
  }
  THINPIPE_BOTH static float decode(std::uint32_t code) {
    return static_cast<float>(static_cast<std::int32_t>(code << (32 - kBits)) >> (32 - kBits));
  }
};

/// 2^kBits levels, symmetric around 0.
template <int kBits>
struct LevelElement {
  static constexpr std::uint32_t kMagnitude = (1U << kBits) - 1;
  static constexpr std::uint32_t kMaxCode = kMagnitude;
  static constexpr bool kHasZero = false;
  static constexpr float kMiddle = 0.5F * kMagnitude;

  THINPIPE_BOTH static std::uint32_t encode(float y, bool stochastic, std::uint32_t random) {
    constexpr float kLimit = 2 * kMiddle;
    const float near = y < -kLimit ? -kLimit : y > kLimit ? kLimit : y;
    const std::int32_t q = rounded(near + kMiddle, stochastic, random);
    return static_cast<std::uint32_t>(limited(q, 0, kMagnitude));
  }
  THINPIPE_BOTH static float decode(std::uint32_t code) {
    return static_cast<float>(code) - kMiddle;
  }
};

/// Floats of 1 + kExponent + kMantissa bits, with denormals.
template <int kExponent, int kMantissa, int kBias, std::uint32_t kMaxMagnitudeCode>
struct FloatElement {
  static constexpr std::uint32_t kSign = 1U << (kExponent + kMantissa);
  static constexpr std::uint32_t kMagnitude = kSign - 1;
  static constexpr std::uint32_t kMaxCode = kMaxMagnitudeCode;
  static constexpr bool kHasZero = true;

  THINPIPE_BOTH static std::uint32_t encode(float y, bool stochastic, std::uint32_t random) {
    constexpr auto kNormal = std::uint32_t{128 - kBias} << 23;  // bits of the least normal
    constexpr float kMax = 2 << kMantissa;                      // above all denormals
    const auto bits = std::bit_cast<std::uint32_t>(y);
    const std::uint32_t magnitude = bits & 0x7fffffff;
    std::uint32_t code = 0;
    if (magnitude < kNormal) {
      // In units of the smallest denormal.
      constexpr auto kInverse = std::uint32_t{127 + kBias - 1 + kMantissa} << 23;
      const float steps = std::bit_cast<float>(magnitude) * std::bit_cast<float>(kInverse);
      code = static_cast<std::uint32_t>(rounded(steps < kMax ? steps : kMax, stochastic, random));
    } else {
      // Adds the rounding term to the mantissa; a carry goes into the exponent.
      const std::uint32_t up = stochastic
                                   ? random >> (32 - kDropped)
                                   : (magnitude >> kDropped & 1) + (1U << (kDropped - 1)) - 1;
      code = ((magnitude + up) >> kDropped) - kRebias;
    }
    return (code < kMaxCode ? code : kMaxCode) | (bits >> 31 != 0 ? kSign : 0);
  }
  THINPIPE_BOTH static float decode(std::uint32_t code) {
    constexpr float kStep = 1.0F / static_cast<float>(1ULL << (kBias - 1 + kMantissa));
    const std::uint32_t magnitude = code & kMagnitude;
    const float value = magnitude >= (1U << kMantissa)
                            ? std::bit_cast<float>((magnitude + kRebias) << kDropped)
                            : static_cast<float>(magnitude) * kStep;
    return (code & kSign) != 0 ? -value : value;
  }

 private:
  static constexpr int kDropped = 23 - kMantissa;
  static constexpr std::uint32_t kRebias = std::uint32_t{127 - kBias} << kMantissa;
};

using E4M3Element = FloatElement<4, 3, 7, 0x7e>;
using E5M2Element = FloatElement<5, 2, 15, 0x7b>;
using E2M1Element = FloatElement<2, 1, 1, 0x7>;

}  // namespace thinpipe::cuda
