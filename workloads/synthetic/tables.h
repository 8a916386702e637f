// Piecewise quadratics that turn random numbers into gradient values; kernels look them up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "workloads/synthetic/magnitudes.h"

namespace thinpipe {

/// Pieces of a function of f > 0: eight to every doubling of f, so that both a tail (f the share
/// beyond) and a peak at 0 (f the share below) are followed over all their decades. A piece goes
/// through the function at both its ends and, where that keeps it monotone, in the middle.
inline constexpr int kPieceBits = 3;
inline constexpr std::size_t kPiecesPerOctave = std::size_t{1} << kPieceBits;

/// Inverse distribution function, of 32 random bits r. The lowest `below` of the 2^32 numbers are
/// negative values and the highest `above` positive ones, the extremes outermost; those in between
/// are 0. A side's numbers are counted from its outer end in the outer half and from its inner end
/// in the inner half; f = (count + 0.5) / size is at most 0.5.
struct QuantileTable {
  static constexpr int kLowestExponent = -33;  ///< f >= 0.5 / (2^32 - 1) > 2^-33
  static constexpr std::size_t kSegments = 32 * kPiecesPerOctave;  ///< up to f = 0.5

  explicit QuantileTable(const ValueDistribution& distribution);

  std::uint32_t below = 0, above = 0;
  std::array<float, 2> share = {};  ///< 1 / size, of the negative and the positive side
  /// value = c0 + t (c1 + t c2), t in [0, 1/8) being what f's mantissa has beyond the piece's
  /// begin. Four parts: negative outer, negative inner, positive outer, positive inner.
  alignas(64) std::array<float, 4 * kSegments> c0 = {}, c1 = {}, c2 = {};
};

/// The same distribution as a function of a standard normal z, so that values take over the
/// dependence of normal numbers: z below `low` gives negative values, z from `high` on positive
/// ones, f being the distance from there.
struct CopulaTable {
  static constexpr int kLowestExponent = -24;
  static constexpr std::size_t kSegments = 28 * kPiecesPerOctave;  ///< up to f = 16

  explicit CopulaTable(const ValueDistribution& distribution);

  float low = 0, high = 0;
  alignas(64) std::array<float, 2 * kSegments> c0 = {}, c1 = {}, c2 = {};
};

}  // namespace thinpipe
