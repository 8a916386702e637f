// Straight pieces that turn random numbers into gradient values; kernels look them up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "workloads/synthetic/magnitudes.h"

namespace thinpipe {

/// Straight pieces of a function of f > 0, 2^kBits to every doubling of f, so that both a tail (f
/// the share beyond) and a peak at 0 (f the share below) are followed over all their decades. A
/// piece meets the function at both its ends; what is monotone stays so.
///
/// value = base + t slope, t in [1, 1 + 2^-kBits) being f's mantissa less the place of its piece:
/// the bits of `base` are the lower half of a word, those of `slope` the upper, so that a kernel
/// gathers both at once.
using StraightPiece = std::uint64_t;

/// Inverse distribution function, of 32 random bits r. The lowest `below` of the 2^32 numbers are
/// negative values and the highest `above` positive ones, the extremes outermost; those in between
/// are 0. A side's numbers are counted from its outer end in the outer half and from its inner end
/// in the inner half; f = (count + 0.5) / size is at most 0.5.
struct QuantileTable {
  static constexpr int kLowestExponent = -33;  ///< f >= 0.5 / (2^32 - 1) > 2^-33
  static constexpr int kBits = 6;
  static constexpr std::size_t kPart = (std::size_t{32} << kBits) + 1;  ///< the last one: f = 0.5

  explicit QuantileTable(const ValueDistribution& distribution);

  std::uint32_t below = 0, above = 0;
  std::array<float, 2> share = {};  ///< 1 / size, of the negative and the positive side
  /// Both sides are as large as each other and have the same magnitudes: the 31 bits below r's sign
  /// are then counted, and the sign is the value's.
  bool mirrored = false;
  /// Four parts: negative outer, negative inner, positive outer, positive inner.
  alignas(64) std::array<StraightPiece, 4 * kPart> pieces = {};
};

/// The same distribution as a function of a standard normal z, so that values take over the
/// dependence of normal numbers: z below `low` gives negative values, z from `high` on positive
/// ones, f being the distance from there.
struct CopulaTable {
  static constexpr int kLowestExponent = -24;
  static constexpr int kBits = 7;
  static constexpr std::size_t kPart = std::size_t{28} << kBits;  ///< up to f = 16

  explicit CopulaTable(const ValueDistribution& distribution);

  float low = 0, high = 0;
  bool mirrored = false;  ///< both are 0 and the sides have the same magnitudes
  alignas(64) std::array<StraightPiece, 2 * kPart> pieces = {};  ///< negative, positive
};

}  // namespace thinpipe
