// Converts to and from 16-bit floats as element_type.h does, in vectors of integers. The conversion
// instructions of CPUs are not used, because some flush denormals and none saturates.
#include "compressors/element_type.h"

#if defined(THINPIPE_HALF_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_HALF_INL_H_
#undef THINPIPE_HALF_INL_H_
#else
#define THINPIPE_HALF_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {

/// Returns to_half() of the bits of floats.
template <HalfFormat kFormat, class DI, class V = hwy::HWY_NAMESPACE::Vec<DI>>
HWY_INLINE V ToHalf(DI di, V bits) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToFloat<DI> d;
  const auto set = [&](std::uint32_t x) { return hn::Set(di, static_cast<std::int32_t>(x)); };
  const auto sign = hn::And(hn::ShiftRight<16>(bits), set(0x8000));
  const auto all = hn::And(bits, set(0x7fffffff));
  const auto is_nan = hn::Gt(all, set(kInfinityBits));
  const auto one = set(1);
  V half;
  if constexpr (kFormat == HalfFormat::kBf16) {
    const auto magnitude = hn::Min(all, set(kMaxBf16Bits));
    const auto odd = hn::And(hn::ShiftRight<16>(magnitude), one);
    half = hn::ShiftRight<16>(hn::Add(hn::Add(magnitude, set(0x7fff)), odd));
  } else {
    const auto magnitude = hn::Min(all, set(kMaxFp16Bits));
    const auto odd = hn::And(hn::ShiftRight<13>(magnitude), one);
    const auto rounded = hn::Add(hn::Add(magnitude, set(0xfff)), odd);
    const auto normal = hn::ShiftRight<13>(hn::Sub(rounded, set(0x38000000)));
    const auto shifted = hn::Add(hn::BitCast(d, magnitude), hn::Set(d, 0.5F));
    const auto denormal = hn::Sub(hn::BitCast(di, shifted), set(0x3f000000));
    half = hn::IfThenElse(hn::Lt(magnitude, set(kMinNormalFp16Bits)), denormal, normal);
  }
  return hn::IfThenZeroElse(is_nan, hn::Or(half, sign));
}

/// Returns to_half_or_infinity().
template <HalfFormat kFormat, class DI, class V = hwy::HWY_NAMESPACE::Vec<DI>>
HWY_INLINE V ToHalfOrInfinity(DI di, V bits) {
  namespace hn = hwy::HWY_NAMESPACE;
  constexpr bool kFp16 = kFormat == HalfFormat::kFp16;
  const auto set = [&](std::uint32_t x) { return hn::Set(di, static_cast<std::int32_t>(x)); };
  const auto magnitude = hn::And(bits, set(0x7fffffff));
  const auto sign = hn::And(hn::ShiftRight<16>(bits), set(0x8000));
  const auto overflows =
      hn::Gt(magnitude, set((kFp16 ? kMaxFp16Bits + 0x1000 : kMaxBf16Bits + 0x8000) - 1));
  const auto infinity = hn::Or(set(kFp16 ? 0x7c00 : 0x7f80), sign);
  const auto is_nan = hn::Gt(magnitude, set(kInfinityBits));
  const auto half = hn::IfThenElse(overflows, infinity, ToHalf<kFormat>(di, bits));
  return hn::IfThenElse(is_nan, set(kFp16 ? 0x7e00 : 0x7fc0), half);
}

/// Returns the bits of from_half().
template <HalfFormat kFormat, class DI, class V = hwy::HWY_NAMESPACE::Vec<DI>>
HWY_INLINE V HalfToBits(DI di, V half) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::RebindToFloat<DI> d;
  if constexpr (kFormat == HalfFormat::kBf16) {
    return hn::ShiftLeft<16>(half);
  } else {
    const auto magnitude = hn::And(half, hn::Set(di, 0x7fff));
    const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(di, 0x8000)));
    const auto normal = hn::Add(hn::ShiftLeft<13>(magnitude), hn::Set(di, 0x38000000));
    const auto denormal =
        hn::BitCast(di, hn::Mul(hn::ConvertTo(d, magnitude), hn::Set(d, 0x1p-24F)));
    const auto value = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x400)), denormal, normal);
    return hn::Or(value, sign);
  }
}

template <HalfFormat kFormat, class DI, class V = hwy::HWY_NAMESPACE::Vec<DI>>
HWY_INLINE auto FromHalf(DI di, V half) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::BitCast(hn::RebindToFloat<DI>(), HalfToBits<kFormat>(di, half));
}

/// Returns from_any_half(), which also converts infinities and NaNs. If all exponent bits of an
/// fp16 number are set, all exponent bits of the binary32 result are set too.
template <HalfFormat kFormat, class DI, class V = hwy::HWY_NAMESPACE::Vec<DI>>
HWY_INLINE auto FromAnyHalf(DI di, V half) {
  namespace hn = hwy::HWY_NAMESPACE;
  auto bits = HalfToBits<kFormat>(di, half);
  if constexpr (kFormat == HalfFormat::kFp16) {
    const auto exponent = hn::Set(di, 0x7c00);
    const auto is_special = hn::Eq(hn::And(half, exponent), exponent);
    bits = hn::Or(bits, hn::IfThenElseZero(is_special,
                                           hn::Set(di, static_cast<std::int32_t>(kInfinityBits))));
  }
  return hn::BitCast(hn::RebindToFloat<DI>(), bits);
}

}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // per target
