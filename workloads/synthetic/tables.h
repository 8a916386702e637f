// Tables of linear pieces, in which kernels look up gradient values for random numbers. Also the
// correlation of normal numbers that gives a wanted correlation of values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compressors/kernels/buffer.h"
#include "workloads/synthetic/magnitudes.h"

namespace thinpipe {

/// A linear piece: value = base + t slope. t in [1, 1 + 2^-bits) is the mantissa of a distance
/// without the bits that select the piece. The bits of `base` are the lower half of a word and
/// those of `slope` the upper half, so that a kernel gathers both at once.
using StraightPiece = std::uint64_t;

/// Values as a function of a whole number v, monotone on either side: negative below `low`,
/// positive above `high`, and 0 from `low` to `high` if they differ. d is the signed distance: v -
/// high above `high`, v - low below `low`, else 0.
///
/// Every doubling of |d| has 2^bits pieces, so that the table resolves a peak at 0 over all its
/// decades. A piece equals the function at both its ends. The upper bits of d as a float, including
/// the sign, are the index of a piece. Entries that no d selects are never touched.
struct PieceTable {
  static constexpr int kMantissaBits = 23;
  static constexpr int kSignedPlaceBits = 9;  ///< of a float, above its mantissa
  static constexpr int kOctaves = 31;         ///< of |d| from 1 to 2^31

  explicit PieceTable(int bits, std::size_t parts);

  bool has_zeros() const { return low != high; }
  /// Returns the entries of a part: one for every combination of upper bits.
  std::size_t part_size() const { return std::size_t{1} << (kSignedPlaceBits + bits); }

  int bits = 0;
  std::int32_t low = 0, high = 0;
  Buffer<StraightPiece> pieces;
};

/// A distribution's inverse distribution function of 32 random bits. The lower 31 bits are v:
/// values of v below `low` are the side of negative values, those above `high` the side of positive
/// values. The highest bit selects one of two parts of the table, of which one resolves the peak at
/// 0 and the other the tail: in the inner part the distance |d| of v is counted from 0 outwards, in
/// the outer part from the largest magnitude inwards. If a side has n values of v, then a fraction
/// |d| / (2 n) of the side's magnitudes is smaller than the value (inner part) or larger (outer
/// part).
struct QuantileTable : PieceTable {
  static constexpr int kBits = 6;
  static constexpr std::size_t kParts = 2;  ///< inner, outer

  explicit QuantileTable(const ValueDistribution& distribution);
};

/// The same distribution as a function of a normal number, so that values inherit the dependence of
/// normal numbers. v is 65536 x a latent (latents.h) plus 16 further bits, the fraction of the
/// latent's unit. v is normal with mean kMiddle and standard deviation kSigma.
struct CopulaTable : PieceTable {
  static constexpr int kBits = 7;
  static constexpr double kMiddle = 32768;
  static constexpr double kSigma = 65536.0 * 2730;  ///< 2^31 is 12 sigma

  explicit CopulaTable(const ValueDistribution& distribution);
};

/// Returns the value of CopulaTable at a standard normal z: the reference for step_values().
double copula_value(const CopulaTable& table, double z);

/// Values T(z) of normal numbers z with correlation r have the correlation sum_k p_k r^k, where p_k
/// is the fraction of T's variance in its k-th Hermite polynomial (Mehler's formula).
class CopulaCorrelation {
 public:
  explicit CopulaCorrelation(const CopulaTable& table);

  /// Returns the correlation of values for a correlation of normal numbers.
  double of_values(double of_normals) const;
  /// Returns the inverse, for a correlation in [0, 1).
  double of_normals(double of_values) const;

 private:
  std::vector<double> shares_;  ///< p_1, p_2, ...; the last entry is the remainder
};

}  // namespace thinpipe
