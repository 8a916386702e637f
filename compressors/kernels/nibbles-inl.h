// Codes of 4 bits, two to a byte. Compiled once per instruction set.
#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

#if defined(THINPIPE_COMPRESSORS_KERNELS_NIBBLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_COMPRESSORS_KERNELS_NIBBLES_INL_H_
#undef THINPIPE_COMPRESSORS_KERNELS_NIBBLES_INL_H_
#else
#define THINPIPE_COMPRESSORS_KERNELS_NIBBLES_INL_H_
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {

#if HWY_TARGET == HWY_SCALAR
HWY_INLINE void PackNibbles(const std::uint8_t* codes, std::size_t count, std::uint8_t* packed) {
  for (std::size_t i = 0; 2 * i < count; ++i) {
    packed[i] = static_cast<std::uint8_t>(codes[2 * i] | (codes[2 * i + 1] << 4));
  }
}

HWY_INLINE void UnpackNibbles(const std::uint8_t* packed, std::size_t count, std::uint8_t* codes) {
  for (std::size_t i = 0; 2 * i < count; ++i) {
    codes[2 * i] = packed[i] & 15;
    codes[2 * i + 1] = packed[i] >> 4;
  }
}
#else
/// Packs `count` 4-bit codes, one to a byte, into bytes of two codes each. The earlier code is in
/// the lower half of a byte. `count` is a multiple of 32.
HWY_INLINE void PackNibbles(const std::uint8_t* HWY_RESTRICT codes, std::size_t count,
                            std::uint8_t* HWY_RESTRICT packed) {
  const hwy::HWY_NAMESPACE::CappedTag<std::uint16_t, 16> d16;
  const hwy::HWY_NAMESPACE::Repartition<std::uint8_t, decltype(d16)> d8;
  const hwy::HWY_NAMESPACE::Rebind<std::uint8_t, decltype(d16)> half;
  const std::size_t lanes = hwy::HWY_NAMESPACE::Lanes(d16);
  for (std::size_t i = 0; 2 * i < count; i += lanes) {
    const auto pair =
        hwy::HWY_NAMESPACE::BitCast(d16, hwy::HWY_NAMESPACE::LoadU(d8, codes + 2 * i));
    hwy::HWY_NAMESPACE::StoreU(
        hwy::HWY_NAMESPACE::TruncateTo(
            half, hwy::HWY_NAMESPACE::Or(pair, hwy::HWY_NAMESPACE::ShiftRight<4>(pair))),
        half, packed + i);
  }
}

HWY_INLINE void UnpackNibbles(const std::uint8_t* HWY_RESTRICT packed, std::size_t count,
                              std::uint8_t* HWY_RESTRICT codes) {
  const hwy::HWY_NAMESPACE::CappedTag<std::uint16_t, 16> d16;
  const hwy::HWY_NAMESPACE::Repartition<std::uint8_t, decltype(d16)> d8;
  const hwy::HWY_NAMESPACE::Rebind<std::uint8_t, decltype(d16)> half;
  const std::size_t lanes = hwy::HWY_NAMESPACE::Lanes(d16);
  for (std::size_t i = 0; 2 * i < count; i += lanes) {
    const auto pair =
        hwy::HWY_NAMESPACE::PromoteTo(d16, hwy::HWY_NAMESPACE::LoadU(half, packed + i));
    const auto spread = hwy::HWY_NAMESPACE::And(
        hwy::HWY_NAMESPACE::Or(pair, hwy::HWY_NAMESPACE::ShiftLeft<4>(pair)),
        hwy::HWY_NAMESPACE::Set(d16, 0x0f0f));
    hwy::HWY_NAMESPACE::StoreU(hwy::HWY_NAMESPACE::BitCast(d8, spread), d8, codes + 2 * i);
  }
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // once per target
