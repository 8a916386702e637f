// Merges bits of two vectors, and joins four vectors of small numbers into one of bytes. Compiled
// once per instruction set.
#include <cstddef>
#include <cstdint>

#if defined(THINPIPE_COMPRESSORS_KERNELS_JOIN_BYTES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_COMPRESSORS_KERNELS_JOIN_BYTES_INL_H_
#undef THINPIPE_COMPRESSORS_KERNELS_JOIN_BYTES_INL_H_
#else
#define THINPIPE_COMPRESSORS_KERNELS_JOIN_BYTES_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {

/// Returns every bit of `yes` where the bit of `mask` is set, else of `no`.
template <class V>
HWY_INLINE V SelectBits(V mask, V yes, V no) {
  namespace hn = hwy::HWY_NAMESPACE;
#if HWY_TARGET <= HWY_AVX3
  return hn::IfVecThenElse(mask, yes, no);  // one instruction, by bits and not by lanes
#else
  return hn::Or(hn::And(mask, yes), hn::AndNot(mask, no));
#endif
}

#if HWY_TARGET != HWY_SCALAR
/// Permutation of the 32-bit words of `blocks` blocks of four words each. The first words of all
/// blocks come first, then all second words, and so on.
template <std::size_t blocks>
struct RowOrder {
  alignas(64) std::int32_t lanes[4 * blocks];

  constexpr RowOrder() : lanes() {
    for (std::size_t i = 0; i < 4 * blocks; ++i) {
      lanes[i] = static_cast<std::int32_t>(i % blocks * 4 + i / blocks);
    }
  }
};

/// Returns a vector of bytes: the lowest bytes of a's lanes, then of b's, c's and d's. Callers
/// should use it for vectors just computed, instead of narrow stores and a wide load: the load
/// would wait until the stores reach the cache.
template <class DU, class V = hwy::HWY_NAMESPACE::Vec<DU>>
HWY_INLINE auto JoinBytes(DU du, V a, V b, V c, V d) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Repartition<std::uint8_t, DU> d8;
  const auto ab = SelectBits(hn::Set(du, 0xffU), a, hn::ShiftLeft<8>(b));
  const auto cd = SelectBits(hn::Set(du, 0xffU), c, hn::ShiftLeft<8>(d));
  const auto columns = SelectBits(hn::Set(du, 0xffffU), ab, hn::ShiftLeft<16>(cd));
  // Within each block of four lanes, a byte lookup brings the four bytes of each input vector
  // together. RowOrder then brings the words of each input vector together.
  alignas(16) static constexpr std::uint8_t kRows[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                         2, 6, 10, 14, 3, 7, 11, 15};
  const auto rows =
      hn::BitCast(du, hn::TableLookupBytes(hn::BitCast(d8, columns), hn::LoadDup128(d8, kRows)));
  constexpr std::size_t kBlocks = hn::MaxLanes(DU()) / 4;
  if constexpr (kBlocks <= 1) {
    return hn::BitCast(d8, rows);
  } else {
    static constexpr RowOrder<kBlocks> kOrder;
    return hn::BitCast(d8, hn::TableLookupLanes(rows, hn::SetTableIndices(du, kOrder.lanes)));
  }
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // once per target
