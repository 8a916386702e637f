// Reads the tensor as four interleaved streams, which uses more of the memory's bandwidth than one.
#include "compressors/kernels/moments.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "compressors/kernels/keys.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/moments.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_MOMENTS_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_MOMENTS_ONCE
namespace thinpipe {
namespace {
constexpr std::size_t kStreams = 4;
constexpr std::size_t kLanes = 16;  // per stream: one vector of AVX-512, two of AVX2, four of SSE
/// Rows of kLanes between two flushes into doubles: 128 float additions keep the relative error
/// of a partial sum under 128 * 2^-24 = 8e-6, and far under it in practice.
constexpr std::size_t kRows = 128;
}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Adds `rows` rows of the four streams, which start `stride` elements apart, to the sums.
void AddRows(const float* HWY_RESTRICT x, std::size_t stride, std::size_t rows,
             double* HWY_RESTRICT sums, std::int32_t* HWY_RESTRICT max_key) {
  const hn::CappedTag<float, kLanes> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN float partial[kStreams * kLanes];
  HWY_ALIGN std::int32_t keys[kLanes];
  for (std::size_t lane = 0; lane < kLanes; lane += lanes) {
    const float* p = x + lane;
    auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
    auto m0 = hn::Zero(di), m1 = hn::Zero(di);
    for (std::size_t row = 0; row < rows; ++row, p += kLanes) {
      const auto a0 = hn::Abs(hn::LoadU(d, p));
      const auto a1 = hn::Abs(hn::LoadU(d, p + stride));
      const auto a2 = hn::Abs(hn::LoadU(d, p + 2 * stride));
      const auto a3 = hn::Abs(hn::LoadU(d, p + 3 * stride));
      s0 = hn::Add(s0, a0);
      s1 = hn::Add(s1, a1);
      s2 = hn::Add(s2, a2);
      s3 = hn::Add(s3, a3);
      // As integers, so that a NaN is not lost as it is in floating-point maxima.
      m0 = hn::Max(m0, hn::Max(hn::BitCast(di, a0), hn::BitCast(di, a1)));
      m1 = hn::Max(m1, hn::Max(hn::BitCast(di, a2), hn::BitCast(di, a3)));
    }
    hn::Store(s0, d, partial + lane);
    hn::Store(s1, d, partial + kLanes + lane);
    hn::Store(s2, d, partial + 2 * kLanes + lane);
    hn::Store(s3, d, partial + 3 * kLanes + lane);
    hn::Store(hn::Max(m0, m1), di, keys + lane);
  }
  for (std::size_t i = 0; i < kStreams * kLanes; ++i) sums[i] += partial[i];
  for (std::int32_t key : keys) *max_key = std::max(*max_key, key);
}

void AddSquares(const float* HWY_RESTRICT x, std::size_t rows, double* HWY_RESTRICT sums) {
  const hn::CappedTag<double, kLanes / 2> d;
  const hn::Rebind<float, decltype(d)> df;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t lane = 0; lane < kLanes; lane += lanes) {
    auto sum = hn::Load(d, sums + lane);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto value = hn::PromoteTo(d, hn::LoadU(df, x + row * kLanes + lane));
      sum = hn::Add(sum, hn::Mul(value, value));
    }
    hn::Store(sum, d, sums + lane);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(AddRows);
HWY_EXPORT(AddSquares);
}  // namespace

Moments magnitude_moments(std::span<const float> x) {
  alignas(64) std::array<double, kStreams * kLanes> sums{};
  std::int32_t max_key = 0;
  const std::size_t rows = x.size() / (kStreams * kLanes);  // per stream
  const std::size_t stride = rows * kLanes;
  for (std::size_t row = 0; row < rows; row += kRows) {
    HWY_DYNAMIC_DISPATCH(AddRows)
    (x.data() + row * kLanes, stride, std::min(kRows, rows - row), sums.data(), &max_key);
  }
  Moments moments{.sum_magnitude = 0, .max_magnitude = 0, .count = x.size()};
  for (double sum : sums) moments.sum_magnitude += sum;
  for (std::size_t i = kStreams * stride; i < x.size(); ++i) {
    moments.sum_magnitude += static_cast<double>(std::fabs(x[i]));
    max_key = std::max(max_key, key_of(x[i], KeyOrder::kMagnitude));
  }
  moments.max_magnitude = magnitude_of(max_key);
  return moments;
}

double sum_of_squares(std::span<const float> x) {
  alignas(64) std::array<double, kLanes> sums{};
  const std::size_t rows = x.size() / kLanes;
  HWY_DYNAMIC_DISPATCH(AddSquares)(x.data(), rows, sums.data());
  double total = 0;
  for (double sum : sums) total += sum;
  for (float value : x.subspan(rows * kLanes)) {
    total += static_cast<double>(value) * static_cast<double>(value);
  }
  return total;
}

}  // namespace thinpipe
#endif  // HWY_ONCE
