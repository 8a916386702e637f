// The fast Walsh-Hadamard transform in registers and first-level cache. Compiled once per
// instruction set.
#include <cstddef>

#include "hwy/highway.h"

#if defined(THINPIPE_COMPRESSORS_KERNELS_HADAMARD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_COMPRESSORS_KERNELS_HADAMARD_INL_H_
#undef THINPIPE_COMPRESSORS_KERNELS_HADAMARD_INL_H_
#else
#define THINPIPE_COMPRESSORS_KERNELS_HADAMARD_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {

#if HWY_TARGET != HWY_SCALAR
/// Computes one stage of the transform in which both elements of each pair are in the same vector.
/// Lane i becomes v[i] + v[i ^ stride], or v[i ^ stride] - v[i] where i & stride is not 0.
template <int kStride, class D, class V>
HWY_INLINE V HadamardLanes(D d, V v) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToUnsigned<D> du;
  constexpr int kLog = kStride == 1 ? 0 : kStride == 2 ? 1 : kStride == 4 ? 2 : 3;
  const auto bit = hn::ShiftLeft<31>(hn::ShiftRight<kLog>(hn::Iota(du, 0)));
  const auto signed_v = hn::Xor(v, hn::BitCast(d, bit));
  V partner = v;
  if constexpr (kStride == 1) partner = hn::Shuffle2301(v);
  if constexpr (kStride == 2) partner = hn::Shuffle1032(v);
  if constexpr (kStride == 4) partner = hn::SwapAdjacentBlocks(v);
  if constexpr (kStride == 8) partner = hn::SwapAdjacentBlocks(hn::ReverseBlocks(d, v));
  return hn::Add(partner, signed_v);
}
#endif

/// Replaces x[0 ... n) by its transform without the factor 1 / sqrt(n); n >= 16 is a power of two,
/// x is aligned to a vector. Stages go from stride 1 up for any width, so all widths give the same
/// bits. Not inlined: otherwise there would be a copy for every element format and rounding.
HWY_NOINLINE inline void HadamardInPlace(float* HWY_RESTRICT x, std::size_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<float, 16> d;
  const std::size_t lanes = hn::Lanes(d);
#if HWY_TARGET != HWY_SCALAR
  constexpr std::size_t kMaxLanes = hn::MaxLanes(decltype(d)());
  for (std::size_t i = 0; i < n; i += lanes) {
    auto v = HadamardLanes<2>(d, HadamardLanes<1>(d, hn::Load(d, x + i)));
    if constexpr (kMaxLanes >= 8) v = HadamardLanes<4>(d, v);
    if constexpr (kMaxLanes >= 16) v = HadamardLanes<8>(d, v);
    hn::Store(v, d, x + i);
  }
#endif
  std::size_t stride = lanes;
  for (; 4 * stride <= n; stride *= 4) {
    for (std::size_t base = 0; base < n; base += 4 * stride) {
      for (std::size_t i = base; i < base + stride; i += lanes) {
        const auto v0 = hn::Load(d, x + i);
        const auto v1 = hn::Load(d, x + i + stride);
        const auto v2 = hn::Load(d, x + i + 2 * stride);
        const auto v3 = hn::Load(d, x + i + 3 * stride);
        const auto s01 = hn::Add(v0, v1);
        const auto d01 = hn::Sub(v0, v1);
        const auto s23 = hn::Add(v2, v3);
        const auto d23 = hn::Sub(v2, v3);
        hn::Store(hn::Add(s01, s23), d, x + i);
        hn::Store(hn::Add(d01, d23), d, x + i + stride);
        hn::Store(hn::Sub(s01, s23), d, x + i + 2 * stride);
        hn::Store(hn::Sub(d01, d23), d, x + i + 3 * stride);
      }
    }
  }
  for (; stride < n; stride *= 2) {
    for (std::size_t base = 0; base < n; base += 2 * stride) {
      for (std::size_t i = base; i < base + stride; i += lanes) {
        const auto v0 = hn::Load(d, x + i);
        const auto v1 = hn::Load(d, x + i + stride);
        hn::Store(hn::Add(v0, v1), d, x + i);
        hn::Store(hn::Sub(v0, v1), d, x + i + stride);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // once per target
