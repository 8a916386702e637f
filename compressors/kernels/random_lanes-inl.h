// Random 32-bit words for vectors of element indices, once per instruction set.
#include <cstdint>

#include "hwy/highway.h"

#if defined(THINPIPE_COMPRESSORS_KERNELS_RANDOM_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_COMPRESSORS_KERNELS_RANDOM_LANES_INL_H_
#undef THINPIPE_COMPRESSORS_KERNELS_RANDOM_LANES_INL_H_
#else
#define THINPIPE_COMPRESSORS_KERNELS_RANDOM_LANES_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {

/// MurmurHash3's finaliser (Appleby, 2011) of the index, with both halves of a key mixed in: the
/// halves differ from step to step, so that no two steps draw the same words in another order.
template <class DU, class VU>
HWY_INLINE VU RandomWords(DU du, VU index, std::uint64_t key) {
  namespace hn = hwy::HWY_NAMESPACE;
  auto h = hn::Add(hn::Mul(index, hn::Set(du, 0x9e3779b9U)),
                   hn::Set(du, static_cast<std::uint32_t>(key)));
  h = hn::Mul(hn::Xor(h, hn::ShiftRight<16>(h)), hn::Set(du, 0x85ebca6bU));
  h = hn::Add(hn::Xor(h, hn::ShiftRight<13>(h)),
              hn::Set(du, static_cast<std::uint32_t>(key >> 32)));
  h = hn::Mul(h, hn::Set(du, 0xc2b2ae35U));
  return hn::Xor(h, hn::ShiftRight<16>(h));
}

/// The same as numbers in [0, 1) of 24 bits.
template <class D, class VU>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> RandomUnit(D d, VU words) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToSigned<D> di;
  return hn::Mul(hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<8>(words))), hn::Set(d, 0x1p-24F));
}

}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // once per target
