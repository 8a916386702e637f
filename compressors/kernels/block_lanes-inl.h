// The vectors of the block kernels: at most 16 lanes. Compiled once per instruction set.
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "compressors/kernels/blocks.h"
#include "hwy/highway.h"

#if defined(THINPIPE_COMPRESSORS_KERNELS_BLOCK_LANES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_COMPRESSORS_KERNELS_BLOCK_LANES_INL_H_
#undef THINPIPE_COMPRESSORS_KERNELS_BLOCK_LANES_INL_H_
#else
#define THINPIPE_COMPRESSORS_KERNELS_BLOCK_LANES_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {

/// Types and functions of blocks, separate from the kernels that include other headers.
namespace block {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using DI = hn::RebindToSigned<D>;
using DU = hn::RebindToUnsigned<D>;
using D8 = hn::Rebind<std::uint8_t, D>;
using V = hn::Vec<D>;
using VI = hn::Vec<DI>;
using VU = hn::Vec<DU>;

/// Returns words as numbers in [0, 1) of 24 bits.
HWY_INLINE V RandomUnit(VU words) {
  const D d;
  const DI di;
  return hn::Mul(hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<8>(words))), hn::Set(d, 0x1p-24F));
}

HWY_INLINE V WithSigns(V x, const BlockRotation& rotation, std::size_t i) {
  return hn::Xor(x, hn::BitCast(D(), hn::LoadU(DU(), rotation.sign_bits.data() + i)));
}

/// Returns 1 / sqrt(n), which makes the transform orthonormal; both operations are exactly rounded.
HWY_INLINE V Norm(std::size_t n) { return hn::Set(D(), 1.0F / std::sqrt(static_cast<float>(n))); }

}  // namespace block

}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // once per target
