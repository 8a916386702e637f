// Common parts of element-wise kernels: the loop with its tail, and arrays of bits.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#if defined(THINPIPE_VECTOR_LOOP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_VECTOR_LOOP_INL_H_
#undef THINPIPE_VECTOR_LOOP_INL_H_
#else
#define THINPIPE_VECTOR_LOOP_INL_H_
#endif

#include "base/both.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {

/// Distance of a prefetch in elements: one page. Passes with much arithmetic per element do not
/// keep enough reads outstanding on their own.
constexpr std::size_t kAhead = 1024;

/// Calls body(d, i) for whole vectors of floats, then with one-lane vectors for the rest.
template <class Body>
HWY_INLINE void ForEachVector(std::size_t n, Body body) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) body(d, i);
  const hn::CappedTag<float, 1> one;
  for (; i < n; ++i) body(one, i);
}

/// canonical() of every lane (base/both.h).
template <class V>
HWY_INLINE V Canonical(V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::DFromV<V> d;
  const hn::RebindToUnsigned<decltype(d)> bits;
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
  // One instruction, on another execution port than those of a selection: a digit for each class of
  // numbers, 0 for the constant and 1 for x. The two lowest digits are those of NaNs.
  if constexpr (sizeof(x.raw) == sizeof(__m512)) {
    return V{_mm512_fixupimm_ps(hn::BitCast(d, hn::Set(bits, kNanBits)).raw, x.raw,
                                _mm512_set1_epi32(0x11111100), 0)};
  }
#endif
  return hn::IfThenElse(hn::IsNaN(x), hn::BitCast(d, hn::Set(bits, kNanBits)), x);
}

/// Stores bits i, i + 1, ... of an array that is filled from its front, lowest bit of each byte
/// first.
template <class D>
HWY_INLINE void StoreBits(D d, hwy::HWY_NAMESPACE::Mask<D> mask, std::uint8_t* bits,
                          std::size_t i) {
  namespace hn = hwy::HWY_NAMESPACE;
  if (hn::Lanes(d) >= 8) {
    hn::StoreMaskBits(d, mask, bits + i / 8);
    return;
  }
  std::uint8_t few[8] = {};
  hn::StoreMaskBits(d, mask, few);
  const std::size_t at = i % 8;
  const unsigned before = at == 0 ? 0U : bits[i / 8];
  bits[i / 8] = static_cast<std::uint8_t>(before | (static_cast<unsigned>(few[0]) << at));
}

template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Mask<D> LoadBits(D d, const std::uint8_t* bits, std::size_t i) {
  namespace hn = hwy::HWY_NAMESPACE;
  std::uint8_t some[8] = {};  // as many as LoadMaskBits may read
  if (hn::Lanes(d) >= 8) {
    std::memcpy(some, bits + i / 8, hn::Lanes(d) / 8);
  } else {
    some[0] = static_cast<std::uint8_t>(bits[i / 8] >> (i % 8));
  }
  return hn::LoadMaskBits(d, some);
}

/// Sets left[i ...] = x - decoded, 0 where that is not finite; does nothing where left is null.
/// `left` may be where x was loaded from.
template <class D, class V = hwy::HWY_NAMESPACE::Vec<D>>
HWY_INLINE void StoreLeft(D d, V x, V decoded, float* left, std::size_t i) {
  namespace hn = hwy::HWY_NAMESPACE;
  if (left == nullptr) return;
  const auto difference = hn::Sub(x, decoded);
  const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
  const auto is_finite = hn::Lt(hn::Abs(difference), infinity);
  hn::StoreU(hn::IfThenElseZero(is_finite, difference), d, left + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // per target
