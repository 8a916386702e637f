// The fast Walsh-Hadamard transform in registers and first-level cache. Compiled once per
// instruction set.
#include <cstddef>
#include <utility>

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

/// Computes the stages of all strides within a vector.
template <class D, class V>
HWY_INLINE V HadamardWithin([[maybe_unused]] D d, V v) {
#if HWY_TARGET != HWY_SCALAR
  constexpr std::size_t kLanes = hwy::HWY_NAMESPACE::MaxLanes(D());
  const std::size_t lanes = hwy::HWY_NAMESPACE::Lanes(d);  // scalable vectors may have fewer
  v = HadamardLanes<2>(d, HadamardLanes<1>(d, v));
  if constexpr (kLanes >= 8) {
    if (lanes >= 8) v = HadamardLanes<4>(d, v);
  }
  if constexpr (kLanes >= 16) {
    if (lanes >= 16) v = HadamardLanes<8>(d, v);
  }
#endif
  return v;
}

#if !HWY_HAVE_SCALABLE  // sizeless vectors form no arrays
/// Vectors that a pass keeps in registers: half of the registers, so that butterflies have room.
constexpr std::size_t kHadamardVectors =
    (HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3) || HWY_ARCH_ARM_A64 ? 16 : 8;

template <class V, std::size_t... i>
HWY_INLINE void HadamardButterflies(V* v, std::index_sequence<i...>) {
  const auto butterfly = [](V& a, V& b) HWY_ATTR {
    const V sum = hwy::HWY_NAMESPACE::Add(a, b);
    b = hwy::HWY_NAMESPACE::Sub(a, b);
    a = sum;
  };
  (butterfly(v[i], v[i + sizeof...(i)]), ...);
}

/// Transforms kCount vectors, each lane separately.
template <std::size_t kCount, class V>
HWY_INLINE void HadamardAcross(V* v) {
  if constexpr (kCount > 1) {
    HadamardAcross<kCount / 2>(v);
    HadamardAcross<kCount / 2>(v + kCount / 2);
    HadamardButterflies(v, std::make_index_sequence<kCount / 2>());
  }
}

/// Computes the stages of `stride`, 2 stride, ... for as many vectors as fit into registers, at
/// most kCount. With kFirst the stages within a vector come before. @returns the next stride.
template <bool kFirst, std::size_t kCount = kHadamardVectors>
HWY_INLINE std::size_t HadamardPass(float* HWY_RESTRICT x, std::size_t n, std::size_t stride) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<float, 16> d;
  constexpr std::size_t kLanes = hn::MaxLanes(decltype(d)());
  if constexpr (kCount > 1) {
    if (kCount * stride > n) return HadamardPass<kFirst, kCount / 2>(x, n, stride);
  }
  const auto transform = [&]<std::size_t... i>(float* at, std::index_sequence<i...>) HWY_ATTR {
    hn::Vec<decltype(d)> v[kCount] = {hn::Load(d, at + i * stride)...};
    if constexpr (kFirst) ((v[i] = HadamardWithin(d, v[i])), ...);
    HadamardAcross<kCount>(v);
    (hn::Store(v[i], d, at + i * stride), ...);
  };
  for (std::size_t base = 0; base < n; base += kCount * stride) {
    for (std::size_t i = base; i < base + stride; i += kLanes) {
      transform(x + i, std::make_index_sequence<kCount>());
    }
  }
  return kCount * stride;
}
#endif

/// Replaces x[0 ... n) by its transform without the factor 1 / sqrt(n); n >= 16 is a power of two,
/// x is aligned to a vector. Every element goes through the stages from stride 1 up, so vectors of
/// all widths, and passes of any number of stages, give the same bits. Not inlined: otherwise there
/// would be a copy for every element format and rounding.
HWY_NOINLINE inline void HadamardInPlace(float* HWY_RESTRICT x, std::size_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::CappedTag<float, 16> d;
  const std::size_t lanes = hn::Lanes(d);
#if HWY_HAVE_SCALABLE
  for (std::size_t i = 0; i < n; i += lanes) {
    hn::Store(HadamardWithin(d, hn::Load(d, x + i)), d, x + i);
  }
  for (std::size_t stride = lanes; stride < n; stride *= 2) {
    for (std::size_t base = 0; base < n; base += 2 * stride) {
      for (std::size_t i = base; i < base + stride; i += lanes) {
        const auto v0 = hn::Load(d, x + i);
        const auto v1 = hn::Load(d, x + i + stride);
        hn::Store(hn::Add(v0, v1), d, x + i);
        hn::Store(hn::Sub(v0, v1), d, x + i + stride);
      }
    }
  }
#else
  for (std::size_t stride = HadamardPass<true>(x, n, lanes); stride < n;) {
    stride = HadamardPass<false>(x, n, stride);
  }
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // once per target
