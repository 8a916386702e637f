// Joins vectors of small numbers into one of bytes, and packs and unpacks bytes that hold codes of
// a few bits. For inclusion by kernels: compiled once per instruction set.
#include <cstddef>
#include <cstdint>

#if defined(THINPIPE_PACK_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_PACK_CODES_INL_H_
#undef THINPIPE_PACK_CODES_INL_H_
#else
#define THINPIPE_PACK_CODES_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns every bit of `yes` where the bit of `mask` is set, else of `no`.
template <class V>
HWY_INLINE V SelectBits(V mask, V yes, V no) {
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
template <class DU, class V = hn::Vec<DU>>
HWY_INLINE auto JoinBytes(DU du, V a, V b, V c, V d) {
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

#if HWY_TARGET == HWY_SCALAR
// This target has no vectors of bytes: the callers' loops do everything.
HWY_INLINE std::size_t PackVectors(const std::uint8_t*, std::size_t, int, std::uint8_t*) {
  return 0;
}
HWY_INLINE std::size_t UnpackVectors(const std::uint8_t*, std::size_t, int, std::uint8_t*) {
  return 0;
}
#else
/// Packs a vector of codes, for kBits of 2, 4 or 8.
template <int kBits, class D8>
HWY_INLINE void PackVector(D8 d8, hn::Vec<D8> codes, std::uint8_t* HWY_RESTRICT packed) {
  if constexpr (kBits == 8) {
    hn::StoreU(codes, d8, packed);
  } else if constexpr (kBits == 4) {
    const hn::Repartition<std::uint16_t, D8> d;
    const hn::Rebind<std::uint8_t, decltype(d)> half;
    const auto pairs = hn::BitCast(d, codes);
    const auto joined = hn::Or(pairs, hn::ShiftRight<4>(pairs));
    hn::StoreU(hn::TruncateTo(half, joined), half, packed);
  } else {
    static_assert(kBits == 2);
    const hn::Repartition<std::uint32_t, D8> d;
    const hn::Rebind<std::uint8_t, decltype(d)> quarter;
    const auto fours = hn::BitCast(d, codes);
    const auto pairs = hn::Or(fours, hn::ShiftRight<6>(fours));
    const auto joined = hn::Or(pairs, hn::ShiftRight<12>(pairs));
    hn::StoreU(hn::TruncateTo(quarter, joined), quarter, packed);
  }
}

/// Packs whole vectors of codes of 2 or 4 bits. @returns the codes done.
HWY_INLINE std::size_t PackVectors(const std::uint8_t* HWY_RESTRICT codes, std::size_t n, int bits,
                                   std::uint8_t* HWY_RESTRICT packed) {
  const hn::ScalableTag<std::uint8_t> d8;
  const std::size_t count = hn::Lanes(d8);
  std::size_t i = 0;
  if (bits == 4) {
    for (; i + count <= n; i += count) {
      PackVector<4>(d8, hn::LoadU(d8, codes + i), packed + i / 2);
    }
  } else if (bits == 2) {
    for (; i + count <= n; i += count) {
      PackVector<2>(d8, hn::LoadU(d8, codes + i), packed + i / 4);
    }
  }
  return i;
}

/// Unpacks whole vectors of codes of 2 or 4 bits. @returns the codes done.
HWY_INLINE std::size_t UnpackVectors(const std::uint8_t* HWY_RESTRICT packed, std::size_t n,
                                     int bits, std::uint8_t* HWY_RESTRICT codes) {
  std::size_t i = 0;
  if (bits == 4) {
    const hn::ScalableTag<std::uint16_t> d;
    const hn::Rebind<std::uint8_t, decltype(d)> d8;
    const hn::Repartition<std::uint8_t, decltype(d)> bytes;
    const std::size_t count = hn::Lanes(bytes);
    const auto mask = hn::Set(d, 0x0f0f);
    for (; i + count <= n; i += count) {
      const auto joined = hn::PromoteTo(d, hn::LoadU(d8, packed + i / 2));
      const auto pairs = hn::And(hn::Or(joined, hn::ShiftLeft<4>(joined)), mask);
      hn::StoreU(hn::BitCast(bytes, pairs), bytes, codes + i);
    }
  } else if (bits == 2) {
    const hn::ScalableTag<std::uint32_t> d;
    const hn::Rebind<std::uint8_t, decltype(d)> d8;
    const hn::Repartition<std::uint8_t, decltype(d)> bytes;
    const std::size_t count = hn::Lanes(bytes);
    const auto mask = hn::Set(d, 0x03030303U);
    for (; i + count <= n; i += count) {
      const auto joined = hn::PromoteTo(d, hn::LoadU(d8, packed + i / 4));
      const auto pairs = hn::Or(joined, hn::ShiftLeft<12>(joined));
      const auto fours = hn::And(hn::Or(pairs, hn::ShiftLeft<6>(pairs)), mask);
      hn::StoreU(hn::BitCast(bytes, fours), bytes, codes + i);
    }
  }
  return i;
}
#endif

/// Packs n codes of `bits` bits, lowest bit first; the last byte is filled with zeros.
HWY_INLINE void PackCodes(const std::uint8_t* HWY_RESTRICT codes, std::size_t n, int bits,
                          std::uint8_t* HWY_RESTRICT packed) {
  std::size_t i = PackVectors(codes, n, bits, packed);
  packed += i * static_cast<std::size_t>(bits) / 8;
  std::uint32_t pending = 0;
  int filled = 0;
  for (; i < n; ++i) {
    pending |= std::uint32_t{codes[i]} << filled;
    for (filled += bits; filled >= 8; filled -= 8, pending >>= 8) {
      *packed++ = static_cast<std::uint8_t>(pending);
    }
  }
  if (filled > 0) *packed = static_cast<std::uint8_t>(pending);
}

/// Unpacks n codes. @returns false where the last byte is not filled with zeros.
HWY_INLINE bool UnpackCodes(const std::uint8_t* HWY_RESTRICT packed, std::size_t n, int bits,
                            std::uint8_t* HWY_RESTRICT codes) {
  std::size_t i = UnpackVectors(packed, n, bits, codes);
  packed += i * static_cast<std::size_t>(bits) / 8;
  std::uint32_t pending = 0;
  int filled = 0;
  for (; i < n; ++i) {
    if (filled < bits) {
      pending |= std::uint32_t{*packed++} << filled;
      filled += 8;
    }
    codes[i] = static_cast<std::uint8_t>(pending & ((1U << bits) - 1));
    pending >>= bits;
    filled -= bits;
  }
  return pending == 0;
}

}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // per target
