// Floats are widened first: neither their squares nor their sums overflow or vanish.
#include "compressors/kernels/spread.h"

#include <array>
#include <cstddef>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/spread.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_SPREAD_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_SPREAD_ONCE
namespace thinpipe {
namespace {
constexpr std::size_t kLanes = 16;  // two vectors of AVX-512, four of AVX2
}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void AddRows(const float* HWY_RESTRICT x, std::size_t rows, double* HWY_RESTRICT sums,
             double* HWY_RESTRICT squares) {
  const hn::CappedTag<double, kLanes / 2> d;
  const hn::Rebind<float, decltype(d)> df;
  const std::size_t lanes = hn::Lanes(d);
  // Pairs of vectors keep the additions from waiting for each other.
  for (std::size_t lane = 0; lane < kLanes; lane += 2 * lanes) {
    auto s0 = hn::Zero(d), s1 = hn::Zero(d), q0 = hn::Zero(d), q1 = hn::Zero(d);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto a = hn::PromoteTo(d, hn::LoadU(df, x + row * kLanes + lane));
      const auto b = hn::PromoteTo(d, hn::LoadU(df, x + row * kLanes + lane + lanes));
      s0 = hn::Add(s0, a);
      s1 = hn::Add(s1, b);
      q0 = hn::Add(q0, hn::Mul(a, a));
      q1 = hn::Add(q1, hn::Mul(b, b));
    }
    hn::Store(hn::Add(s0, hn::Load(d, sums + lane)), d, sums + lane);
    hn::Store(hn::Add(s1, hn::Load(d, sums + lane + lanes)), d, sums + lane + lanes);
    hn::Store(hn::Add(q0, hn::Load(d, squares + lane)), d, squares + lane);
    hn::Store(hn::Add(q1, hn::Load(d, squares + lane + lanes)), d, squares + lane + lanes);
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
}  // namespace

Spread spread(std::span<const float> x) {
  alignas(64) std::array<double, kLanes> sums{};
  alignas(64) std::array<double, kLanes> squares{};
  // Narrow vectors go over a block several times: it stays in the first-level cache.
  constexpr std::size_t kRows = 128;
  const std::size_t rows = x.size() / kLanes;
  for (std::size_t row = 0; row < rows; row += kRows) {
    HWY_DYNAMIC_DISPATCH(AddRows)
    (x.data() + row * kLanes, row + kRows <= rows ? kRows : rows - row, sums.data(),
     squares.data());
  }
  Spread result;
  for (double sum : sums) result.sum += sum;
  for (double sum : squares) result.sum_squares += sum;
  for (float value : x.subspan(rows * kLanes)) {
    result.sum += double{value};
    result.sum_squares += double{value} * double{value};
  }
  return result;
}

}  // namespace thinpipe
#endif  // HWY_ONCE
