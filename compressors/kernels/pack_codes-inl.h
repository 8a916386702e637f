// Packs and unpacks bytes that hold codes of a few bits, for inclusion by kernels: compiled once
// per instruction set.
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
