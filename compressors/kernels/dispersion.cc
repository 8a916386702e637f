// Sums and sums of squares in doubles, over four interleaved streams.
#include "compressors/kernels/dispersion.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "compressors/kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/dispersion.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
// after it
#include "compressors/kernels/vector_loop-inl.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_DISPERSION_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_DISPERSION_ONCE
namespace thinpipe {
namespace {
constexpr std::size_t kStreams = 4;
constexpr std::size_t kLanes = 16;  // per stream and row: one cache line
constexpr std::size_t kPartials = kStreams * kLanes;
/// Rows at a time: 64 of four streams are 16 KiB, which stay in the first-level cache while the
/// lanes are worked through one vector of doubles after the other.
constexpr std::size_t kRows = 64;
}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <bool magnitudes>
HWY_INLINE void AddRowsOf(const float* HWY_RESTRICT x, std::size_t stride, std::size_t rows,
                          double* HWY_RESTRICT sums, double* HWY_RESTRICT squares) {
  const hn::CappedTag<double, kLanes / 2> d;
  const hn::Rebind<float, decltype(d)> df;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t lane = 0; lane < kLanes; lane += lanes) {
    const auto value_at = [&](const float* at) HWY_ATTR {
      const auto value = hn::PromoteTo(d, hn::LoadU(df, at));
      if constexpr (magnitudes) {
        return hn::Abs(value);
      } else {
        return value;
      }
    };
    auto s0 = hn::Load(d, sums + lane), s1 = hn::Load(d, sums + kLanes + lane),
         s2 = hn::Load(d, sums + 2 * kLanes + lane), s3 = hn::Load(d, sums + 3 * kLanes + lane);
    auto q0 = hn::Load(d, squares + lane), q1 = hn::Load(d, squares + kLanes + lane),
         q2 = hn::Load(d, squares + 2 * kLanes + lane),
         q3 = hn::Load(d, squares + 3 * kLanes + lane);
    const float* p = x + lane;
    for (std::size_t row = 0; row < rows; ++row, p += kLanes) {
      if (lane == 0) {
        for (std::size_t s = 0; s < kStreams; ++s) hwy::Prefetch(p + s * stride + kAhead);
      }
      const auto v0 = value_at(p);
      const auto v1 = value_at(p + stride);
      const auto v2 = value_at(p + 2 * stride);
      const auto v3 = value_at(p + 3 * stride);
      s0 = hn::Add(s0, v0);
      s1 = hn::Add(s1, v1);
      s2 = hn::Add(s2, v2);
      s3 = hn::Add(s3, v3);
      q0 = hn::Add(q0, hn::Mul(v0, v0));
      q1 = hn::Add(q1, hn::Mul(v1, v1));
      q2 = hn::Add(q2, hn::Mul(v2, v2));
      q3 = hn::Add(q3, hn::Mul(v3, v3));
    }
    hn::Store(s0, d, sums + lane);
    hn::Store(s1, d, sums + kLanes + lane);
    hn::Store(s2, d, sums + 2 * kLanes + lane);
    hn::Store(s3, d, sums + 3 * kLanes + lane);
    hn::Store(q0, d, squares + lane);
    hn::Store(q1, d, squares + kLanes + lane);
    hn::Store(q2, d, squares + 2 * kLanes + lane);
    hn::Store(q3, d, squares + 3 * kLanes + lane);
  }
}

void AddRows(bool magnitudes, const float* x, std::size_t stride, std::size_t rows, double* sums,
             double* squares) {
  if (magnitudes) {
    AddRowsOf<true>(x, stride, rows, sums, squares);
  } else {
    AddRowsOf<false>(x, stride, rows, sums, squares);
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

Dispersion dispersion_of_part(std::span<const float> x, bool magnitudes) {
  alignas(64) std::array<double, kPartials> sums{};
  alignas(64) std::array<double, kPartials> squares{};
  const std::size_t rows = x.size() / kPartials;  // per stream
  const std::size_t stride = rows * kLanes;
  for (std::size_t row = 0; row < rows; row += kRows) {
    HWY_DYNAMIC_DISPATCH(AddRows)
    (magnitudes, x.data() + row * kLanes, stride, std::min(kRows, rows - row), sums.data(),
     squares.data());
  }
  Dispersion total{.sum = 0, .squares = 0, .count = x.size()};
  for (double sum : sums) total.sum += sum;
  for (double sum : squares) total.squares += sum;
  for (float element : x.subspan(kStreams * stride)) {
    const auto value = static_cast<double>(magnitudes ? std::fabs(element) : element);
    total.sum += value;
    total.squares += value * value;
  }
  return total;
}

Dispersion dispersion(std::span<const float> x, bool magnitudes) {
  std::array<Dispersion, kMaxSumParts> parts;
  parallel_sum_parts(x.size(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    parts[part] = dispersion_of_part(x.subspan(begin, end - begin), magnitudes);
  });
  Dispersion total{.sum = 0, .squares = 0, .count = x.size()};
  for (const Dispersion& part : std::span(parts).first(sum_parts(x.size()))) {
    total.sum += part.sum;
    total.squares += part.squares;
  }
  return total;
}
}  // namespace

Dispersion signed_dispersion(std::span<const float> x) { return dispersion(x, false); }
Dispersion magnitude_dispersion(std::span<const float> x) { return dispersion(x, true); }

}  // namespace thinpipe
#endif  // HWY_ONCE
