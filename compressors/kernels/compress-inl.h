// Moves the lanes that a mask selects to the front of a vector. Uses Highway's Compress where the
// CPU has an instruction for it. Elsewhere Highway 1.0.3 copies its lookup tables to the stack at
// every call, which takes 100 times as long as the lookup. The tables of compress_table.h are used
// there instead.
#if defined(THINPIPE_COMPRESSORS_KERNELS_COMPRESS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_COMPRESSORS_KERNELS_COMPRESS_INL_H_
#undef THINPIPE_COMPRESSORS_KERNELS_COMPRESS_INL_H_
#else
#define THINPIPE_COMPRESSORS_KERNELS_COMPRESS_INL_H_
#endif

#include <cstdint>

#include "compressors/kernels/compress_table.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {

/// Compresses 32-bit lanes.
template <class V, class M>
HWY_INLINE V CompressLanes(V v, M mask) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::DFromV<V> d;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
  std::uint64_t bits = 0;
  hn::StoreMaskBits(d, mask, reinterpret_cast<std::uint8_t*>(&bits));
  const std::int32_t* table = nullptr;
  if constexpr (hn::MaxLanes(hn::DFromV<V>()) == 8) {
    table = kCompressTable8[bits].data();
  } else {
    table = kCompressTable4[bits].data();
  }
  return hn::TableLookupLanes(v, hn::SetTableIndices(d, table));
#else
  (void)d;
  return hn::Compress(v, mask);
#endif
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
