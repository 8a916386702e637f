// In which order PowerSGD's factors are computed, on processors and on GPUs.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/both.h"

namespace thinpipe {

/// Partial sums of a row's product with a column of q: one vector of AVX-512, two of AVX2.
constexpr std::size_t kLowRankPartials = 16;
/// Partial sums of a product of two columns of p, to which their elements are dealt out one after
/// the other; then the upper half of the sums is added to the lower, and so on.
constexpr std::size_t kDotLanes = 256;

/// A number that an empty column begins anew with: the sum of four uniform ones (the paper draws
/// from a normal distribution).
THINPIPE_BOTH inline float low_rank_random(std::uint64_t word) {
  std::int64_t sum = -2L * 65535;
  for (int part = 0; part < 4; ++part)
    sum += static_cast<std::int64_t>((word >> (16 * part)) & 0xffff);
  return static_cast<float>(sum) * 0x1p-16F;
}

/// x less what it has of another column.
THINPIPE_BOTH inline float without_share(float x, double share, float direction) {
  const double product = share * static_cast<double>(direction);
  return static_cast<float>(static_cast<double>(x) - product);
}
/// What makes a column's length 1; 0 where what is `left` of its square, after the others' shares
/// were taken out of what was there `before`, is rounding noise.
THINPIPE_BOTH inline double unit_scale(double before, double left) {
  constexpr double kDependent = 1e-12;
  return left > kDependent * before ? 1 / std::sqrt(left) : 0;
}

}  // namespace thinpipe
