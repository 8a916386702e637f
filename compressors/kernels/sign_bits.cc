// Comparisons make masks, and masks are bits.
#include "compressors/kernels/sign_bits.h"

#include <algorithm>
#include <array>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/sign_bits.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/vector_loop-inl.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_SIGN_BITS_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_SIGN_BITS_ONCE
namespace thinpipe {
namespace {
constexpr std::size_t kLanes = 32;  // two vectors of AVX-512, four of AVX2
constexpr std::size_t kRows = 64;   // of kLanes elements between two flushes into doubles
}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Adds `rows` <= kRows rows to the partial sums.
void SumRows(const float* HWY_RESTRICT x, std::size_t rows, double* HWY_RESTRICT positive,
             double* HWY_RESTRICT negative, std::size_t* negatives) {
  const hn::CappedTag<float, kLanes / 2> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN float above[kLanes];
  HWY_ALIGN float below[kLanes];
  HWY_ALIGN std::int32_t counts[kLanes];
  const auto zero = hn::Zero(d);
  for (std::size_t lane = 0; lane < kLanes; lane += 2 * lanes) {
    auto p0 = zero, p1 = zero, n0 = zero, n1 = zero;
    auto c0 = hn::Zero(di), c1 = hn::Zero(di);
    for (std::size_t row = 0; row < rows; ++row) {
      const auto a = hn::LoadU(d, x + row * kLanes + lane);
      const auto b = hn::LoadU(d, x + row * kLanes + lane + lanes);
      const auto a_below = hn::Lt(a, zero);
      const auto b_below = hn::Lt(b, zero);
      p0 = hn::Add(p0, hn::IfThenZeroElse(a_below, a));
      p1 = hn::Add(p1, hn::IfThenZeroElse(b_below, b));
      n0 = hn::Add(n0, hn::IfThenElseZero(a_below, a));
      n1 = hn::Add(n1, hn::IfThenElseZero(b_below, b));
      c0 = hn::Sub(c0, hn::VecFromMask(di, hn::RebindMask(di, a_below)));
      c1 = hn::Sub(c1, hn::VecFromMask(di, hn::RebindMask(di, b_below)));
    }
    hn::Store(p0, d, above + lane);
    hn::Store(p1, d, above + lane + lanes);
    hn::Store(n0, d, below + lane);
    hn::Store(n1, d, below + lane + lanes);
    hn::Store(c0, di, counts + lane);
    hn::Store(c1, di, counts + lane + lanes);
  }
  for (std::size_t i = 0; i < kLanes; ++i) {
    positive[i] += static_cast<double>(above[i]);
    negative[i] += static_cast<double>(below[i]);
    *negatives += static_cast<std::size_t>(counts[i]);
  }
}

void Pack(const float* c, std::size_t n, float positive, float negative, float* left,
          std::uint8_t* HWY_RESTRICT bits) {
  ForEachVector(n, [&](auto d, std::size_t i) {
    const auto x = hn::LoadU(d, c + i);
    const auto below = hn::Lt(x, hn::Zero(d));
    StoreBits(d, below, bits, i);
    StoreLeft(d, x, hn::IfThenElse(below, hn::Set(d, negative), hn::Set(d, positive)), left, i);
  });
}

void UnpackAdd(const std::uint8_t* HWY_RESTRICT bits, float positive, float negative,
               float* HWY_RESTRICT out, std::size_t n) {
  ForEachVector(n, [&](auto d, std::size_t i) {
    const auto below = LoadBits(d, bits, i);
    const auto value = hn::IfThenElse(below, hn::Set(d, negative), hn::Set(d, positive));
    hn::StoreU(hn::Add(hn::LoadU(d, out + i), value), d, out + i);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(SumRows);
HWY_EXPORT(Pack);
HWY_EXPORT(UnpackAdd);
}  // namespace

SignedSums signed_sums(std::span<const float> x) {
  std::array<double, kLanes> positive{};
  std::array<double, kLanes> negative{};
  SignedSums sums;
  const std::size_t rows = x.size() / kLanes;
  for (std::size_t row = 0; row < rows; row += kRows) {
    HWY_DYNAMIC_DISPATCH(SumRows)
    (x.data() + row * kLanes, std::min(kRows, rows - row), positive.data(), negative.data(),
     &sums.negatives);
  }
  for (double sum : positive) sums.positive += sum;
  for (double sum : negative) sums.negative += sum;
  for (float value : x.subspan(rows * kLanes)) {
    (value < 0 ? sums.negative : sums.positive) += static_cast<double>(value);
    sums.negatives += value < 0 ? 1 : 0;
  }
  if (std::isfinite(sums.positive - sums.negative)) return sums;
  // Partial sums of huge values overflow, or something is not finite.
  sums.positive = sums.negative = 0;
  for (float value : x) {
    if (std::isfinite(value)) (value < 0 ? sums.negative : sums.positive) += double{value};
  }
  return sums;
}

void sign_pack(std::span<const float> c, float positive, float negative, std::span<float> remainder,
               std::uint8_t* bits) {
  float* const left = remainder.empty() ? nullptr : remainder.data();
  HWY_DYNAMIC_DISPATCH(Pack)(c.data(), c.size(), positive, negative, left, bits);
}

void sign_unpack_add(const std::uint8_t* bits, float positive, float negative,
                     std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(UnpackAdd)(bits, positive, negative, out.data(), out.size());
}

}  // namespace thinpipe
#endif  // HWY_ONCE
