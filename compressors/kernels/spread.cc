// Floats are widened first: neither their squares nor their sums overflow or vanish.
#include "compressors/kernels/spread.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "compressors/kernels/keys.h"
#include "compressors/kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/spread.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
// once per target
#include "compressors/kernels/max_key-inl.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_SPREAD_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_SPREAD_ONCE
namespace thinpipe {
namespace {
constexpr std::size_t kLanes = 16;  // two vectors of AVX-512, four of AVX2
/// Gone over several times: it stays in the first-level cache.
constexpr std::size_t kBlock = 128 * kLanes;
/// Parts with a sum of their own; any number of threads shares them.
constexpr std::size_t kParts = 64;

struct Part {
  double sum = 0;
  double squares = 0;
  std::int32_t max_key = 0;
};
}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

HWY_INLINE void AddBlock(const float* HWY_RESTRICT x, std::size_t rows, double* HWY_RESTRICT sums,
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

/// Adds whole rows. @returns the greatest key of all elements.
std::int32_t AddRows(const float* HWY_RESTRICT x, std::size_t n, double* HWY_RESTRICT sums,
                     double* HWY_RESTRICT squares) {
  std::int32_t most = 0;
  for (std::size_t at = 0; at < n; at += kBlock) {
    const std::size_t some = std::min(kBlock, n - at);
    most = std::max(most, MaxKeyOf(x + at, some));
    AddBlock(x + at, some / kLanes, sums, squares);
  }
  return most;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(AddRows);

/// Adds up the elements of one part.
Part part_of(std::span<const float> x) {
  alignas(64) std::array<double, kLanes> sums{};
  alignas(64) std::array<double, kLanes> squares{};
  Part part;
  part.max_key = HWY_DYNAMIC_DISPATCH(AddRows)(x.data(), x.size(), sums.data(), squares.data());
  for (double sum : sums) part.sum += sum;
  for (double sum : squares) part.squares += sum;
  for (float value : x.subspan(x.size() / kLanes * kLanes)) {
    part.sum += double{value};
    part.squares += double{value} * double{value};
  }
  return part;
}
}  // namespace

Spread spread(std::span<const float> x) {
  std::array<Part, kParts> parts;
  const std::size_t lines = x.size() / kLanes;
  parallel_parts(kParts, threads_for(x.size()), [&](std::size_t part) {
    const std::size_t begin = lines * part / kParts * kLanes;
    const std::size_t end = part + 1 == kParts ? x.size() : lines * (part + 1) / kParts * kLanes;
    parts[part] = part_of(x.subspan(begin, end - begin));
  });
  Spread result;
  std::int32_t most = 0;
  for (const Part& part : parts) {
    result.sum += part.sum;
    result.sum_squares += part.squares;
    most = std::max(most, part.max_key);
  }
  result.max_magnitude = magnitude_of(most);
  return result;
}

}  // namespace thinpipe
#endif  // HWY_ONCE
