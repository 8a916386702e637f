// Tables of linear pieces, in which kernels look up gradient values for random numbers. This file
// also calculates the correlation that normal numbers need so that the gradient values have a
// wanted correlation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compressors/kernels/buffer.h"
#include "workloads/synthetic/magnitudes.h"

namespace thinpipe {

/// A linear piece of a table: value = base + t slope. t is the mantissa of a distance without the
/// bits that select the piece, so t is in [1, 1 + 2^-bits). The lower half of the word contains the
/// float `base` and the upper half the float `slope`, so that a kernel gathers both at once.
using StraightPiece = std::uint64_t;

/// A table of values as a function of a whole number v. Values are negative for v below `low`,
/// positive for v above `high`, and 0 from `low` to `high` if these differ. On each of the two
/// sides the function is monotone. d is the signed distance of v: v - high above `high`, v - low
/// below `low`, else 0.
///
/// Every octave of |d| (from 2^n to 2^(n + 1)) has 2^bits linear pieces, so that the table resolves
/// a peak at 0 over all its decades. A piece equals the function at both its ends. The index of a
/// piece is the upper bits of d as a float, including the sign. Entries that no d selects are never
/// touched.
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

/// The inverse distribution function of a distribution, as a table for 32 random bits. The lower 31
/// bits are v: the n values of v below `low` stand for negative values of the distribution, those
/// above `high` for positive ones, and those between for 0. |d| is the distance of v from `low` or
/// `high`, from 1 to n. The highest bit selects one of two parts of the table, each with half of a
/// sign's magnitudes. The inner part has the smaller half, near the peak at 0: a fraction
/// |d| / (2 n) of the magnitudes is smaller than the value for |d|. The outer part has the larger
/// half, with the tail: a fraction |d| / (2 n) is larger.
struct QuantileTable : PieceTable {
  static constexpr int kBits = 6;
  static constexpr std::size_t kParts = 2;  ///< inner, outer

  explicit QuantileTable(const ValueDistribution& distribution);
};

/// A distribution as a function of a normal number instead of random bits, so that correlated
/// normal numbers give correlated values. v is 65536 x a latent (an integer normal number,
/// draw.h) plus 16 further bits, the fraction of the latent's unit. v is normal with mean
/// kMiddle and standard deviation kSigma.
struct CopulaTable : PieceTable {
  static constexpr int kBits = 7;
  static constexpr double kMiddle = 32768;
  static constexpr double kSigma = 65536.0 * 2730;  ///< 2^31 is 12 sigma

  explicit CopulaTable(const ValueDistribution& distribution);
};

/// Returns the value of CopulaTable at a standard normal z: the reference for step_values().
double copula_value(const CopulaTable& table, double z);

/// Converts between the correlation r of normal numbers z and the correlation of the table's values
/// T(z). The values have the correlation sum_k p_k r^k (Mehler's formula), where p_k is the
/// fraction of T's variance in its k-th Hermite polynomial.
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
