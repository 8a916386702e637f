// Straight pieces that turn random numbers into gradient values, which kernels look up; and how
// correlated normal numbers must be for the values made of them to be as correlated as wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "compressors/kernels/buffer.h"
#include "workloads/synthetic/magnitudes.h"

namespace thinpipe {

/// value = base + t slope, t in [1, 1 + 2^-bits) being the mantissa of a distance less the place
/// of its piece: the bits of `base` are the lower half of a word, those of `slope` the upper, so
/// that a kernel gathers both at once.
using StraightPiece = std::uint64_t;

/// Values as a function of a whole number v, monotone on either side: negative below `low`,
/// positive above `high`, and 0 from one to the other where they differ. d is the signed distance
/// from there: v - high above, v - low below, else 0.
///
/// There are 2^bits pieces to every doubling of |d|, so that a peak at 0 is followed over all its
/// decades; a piece meets the function at both its ends. Pieces are found by the upper bits of d as
/// a float, its sign among them. The memory in between is never touched.
struct PieceTable {
  static constexpr int kMantissaBits = 23;
  static constexpr int kSignedPlaceBits = 9;  ///< of a float, above its mantissa
  static constexpr int kOctaves = 31;         ///< of |d| from 1 to 2^31

  explicit PieceTable(int bits, std::size_t parts);

  bool has_zeros() const { return low != high; }
  /// Entries of a part: one for every pattern of upper bits.
  std::size_t part_size() const { return std::size_t{1} << (kSignedPlaceBits + bits); }

  int bits = 0;
  std::int32_t low = 0, high = 0;
  Buffer<StraightPiece> pieces;
};

/// Inverse distribution function, of 32 random bits r. v is r's lower 31 bits; where the highest
/// bit is set, d is counted from the outer end of its side, else from the inner one, so that both a
/// tail and a peak are followed: a share |d| / (2 size) of that side's magnitudes lies beyond the
/// value, or below it, size being how many v that side has.
struct QuantileTable : PieceTable {
  static constexpr int kBits = 6;
  static constexpr std::size_t kParts = 2;  ///< inner, outer

  explicit QuantileTable(const ValueDistribution& distribution);
};

/// The same distribution as a function of a normal number, so that values take over the dependence
/// of normal numbers. v is 65536 x a latent (latents.h) plus 16 further bits, which say where in
/// the latent's own unit it lies: normal with the mean kMiddle and the standard deviation kSigma.
struct CopulaTable : PieceTable {
  static constexpr int kBits = 7;
  static constexpr double kMiddle = 32768;
  static constexpr double kSigma = 65536.0 * 2730;  ///< 2^31 are 12 of them

  explicit CopulaTable(const ValueDistribution& distribution);
};

/// Value of CopulaTable at one standard normal z: the reference of step_values().
double copula_value(const CopulaTable& table, double z);

/// Values T(z) of normal numbers z that correlate by r have the correlation sum_k p_k r^k, where
/// p_k is the share of T's variance that lies in its k-th Hermite polynomial (Mehler's formula).
class CopulaCorrelation {
 public:
  explicit CopulaCorrelation(const CopulaTable& table);

  double of_values(double of_normals) const;
  /// The inverse for a correlation in [0, 1).
  double of_normals(double of_values) const;

 private:
  std::vector<double> shares_;  ///< p_1, p_2, ...; the last one holds what is left
};

}  // namespace thinpipe
