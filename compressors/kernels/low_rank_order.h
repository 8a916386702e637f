// In which order PowerSGD's factors are computed, on processors and on GPUs: sums are cut into
// stretches that can be added up beside each other.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/both.h"

namespace thinpipe {

/// Partial sums of a row's product with a column of q: one vector of AVX-512, two of AVX2.
constexpr std::size_t kLowRankPartials = 16;
/// Rows of the matrix whose products with p are added up one after the other to a column of q; then
/// these sums, in order. 256: an element of a GPU's partial sums for 256 of the matrix, so little
/// to write, and of 26 million elements 100 000 threads have work.
constexpr std::size_t kLowRankStretch = 256;
/// Partial sums of a product of two columns of p, to which the elements of a stretch are dealt out
/// one after the other; then the upper half of the sums is added to the lower, and so on; then the
/// stretches' sums, in order.
constexpr std::size_t kDotLanes = 256;
constexpr std::size_t kDotStretch = 4096;

/// A number that an empty column begins anew with: the sum of four uniform ones (the paper draws
/// from a normal distribution).
THINPIPE_BOTH inline float low_rank_random(std::uint64_t word) {
  std::int64_t sum = -2L * 65535;
  for (int part = 0; part < 4; ++part)
    sum += static_cast<std::int64_t>((word >> (16 * part)) & 0xffff);
  return static_cast<float>(sum) * 0x1p-16F;
}

/// x less the share that a column before it has, of a product or of an element.
THINPIPE_BOTH inline double less_share(double x, double share, double other) {
  const double product = share * other;
  return x - product;
}
/// So often are columns made orthonormal: the first time leaves errors where some are nearly
/// dependent.
THINPIPE_BOTH constexpr std::size_t orthogonalize_passes(std::size_t columns) {
  return columns > 1 ? 2 : 1;
}

/// What makes a column's length 1; 0 where what is `left` of its square, after the others' shares
/// were taken out of what was there `before`, is rounding noise.
THINPIPE_BOTH inline double unit_scale(double before, double left) {
  constexpr double kDependent = 1e-12;
  return left > kDependent * before ? 1 / std::sqrt(left) : 0;
}

}  // namespace thinpipe
