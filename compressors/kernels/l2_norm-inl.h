// Computes the L2 norm with a fixed order of partial sums. Kernels include this file; it is
// compiled once per instruction set and gives the same bits in each.
#include <cmath>
#include <cstddef>

#include "compressors/kernels/sums.h"
#include "compressors/wire/scale.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_L2_NORM_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_L2_NORM_ONCE
namespace thinpipe {
namespace {
/// Range in which a sum of squares in float is valid: no square that matters was lost to underflow,
/// and no partial sum overflowed.
constexpr float kLeastSquares = 0x1p-80F;
constexpr float kMaxSquares = 0x1p120F;
constexpr std::size_t kNormLanes = 16;  // of a row: one vector of AVX-512, two of AVX2
constexpr std::size_t kNormRow = 4 * kNormLanes;
/// Greatest number of elements whose squares are summed in float. Each partial sum then takes 64
/// additions and has an error under 2^-18 in the worst case, some 2^-23 in practice.
constexpr std::size_t kFewElements = 64 * kNormRow;
}  // namespace
}  // namespace thinpipe
#endif

#if defined(THINPIPE_L2_NORM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_L2_NORM_INL_H_
#undef THINPIPE_L2_NORM_INL_H_
#else
#define THINPIPE_L2_NORM_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {

/// Returns the sum of squares of a few elements, in float. A result below kLeastSquares or above
/// kMaxSquares, or a NaN, means that the caller has to sum in double instead.
HWY_INLINE float FewSquares(const float* HWY_RESTRICT x, std::size_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<float, kNormLanes> d;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN float sums[kNormLanes];
  const std::size_t rows = n / kNormRow;
  for (std::size_t lane = 0; lane < kNormLanes; lane += lanes) {
    auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
    for (const float* p = x + lane; p < x + rows * kNormRow; p += kNormRow) {
      const auto a = hn::LoadU(d, p);
      const auto b = hn::LoadU(d, p + kNormLanes);
      const auto e = hn::LoadU(d, p + 2 * kNormLanes);
      const auto f = hn::LoadU(d, p + 3 * kNormLanes);
      s0 = hn::Add(s0, hn::Mul(a, a));
      s1 = hn::Add(s1, hn::Mul(b, b));
      s2 = hn::Add(s2, hn::Mul(e, e));
      s3 = hn::Add(s3, hn::Mul(f, f));
    }
    hn::Store(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), d, sums + lane);
  }
  float rest = 0;
  for (std::size_t i = rows * kNormRow; i < n; ++i) rest += x[i] * x[i];
  for (std::size_t half = kNormLanes / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0] + rest;
}

HWY_INLINE float Norm(const float* c, std::size_t n) {
  if (n <= kFewElements) {
    const float sum = FewSquares(c, n);
    if (sum >= kLeastSquares && sum <= kMaxSquares) return std::sqrt(sum);
  }
  return finite(std::sqrt(sum_of_squares({c, n})));
}

}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // per target
