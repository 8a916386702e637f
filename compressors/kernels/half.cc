// encode/half.h in vectors of integers, not by the processors' own conversions, which flush
// denormals on some and saturate on none.
#include "compressors/kernels/half.h"

#include <atomic>

#include "compressors/kernels/ahead.h"
#include "compressors/kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/half.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

template <HalfFormat kFormat, class DI, class V = hn::Vec<DI>>
HWY_INLINE V ToHalf(DI di, V bits) {
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

template <HalfFormat kFormat, class DI, class V = hn::Vec<DI>>
HWY_INLINE auto FromHalf(DI di, V half) {
  const hn::RebindToFloat<DI> d;
  if constexpr (kFormat == HalfFormat::kBf16) {
    return hn::BitCast(d, hn::ShiftLeft<16>(half));
  } else {
    const auto magnitude = hn::And(half, hn::Set(di, 0x7fff));
    const auto sign = hn::ShiftLeft<16>(hn::And(half, hn::Set(di, 0x8000)));
    const auto normal = hn::Add(hn::ShiftLeft<13>(magnitude), hn::Set(di, 0x38000000));
    const auto denormal =
        hn::BitCast(di, hn::Mul(hn::ConvertTo(d, magnitude), hn::Set(d, 0x1p-24F)));
    const auto value = hn::IfThenElse(hn::Lt(magnitude, hn::Set(di, 0x400)), denormal, normal);
    return hn::BitCast(d, hn::Or(value, sign));
  }
}

template <HalfFormat kFormat>
void Pack(const float* c, std::size_t n, float* left, std::uint8_t* HWY_RESTRICT halves) {
  ForEachVector(n, [&](auto d, std::size_t i) {
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<std::uint16_t, decltype(d)> d16;
    const auto x = hn::LoadU(d, c + i);
    ask_far_ahead(c + i);
    const auto half = ToHalf<kFormat>(di, hn::BitCast(di, x));
    hn::StoreU(hn::DemoteTo(d16, half), d16, reinterpret_cast<std::uint16_t*>(halves) + i);
    StoreLeft(d, x, FromHalf<kFormat>(di, half), left, i);
  });
}

template <HalfFormat kFormat>
bool UnpackAdd(const std::uint8_t* HWY_RESTRICT halves, float factor, float* HWY_RESTRICT out,
               std::size_t n) {
  constexpr std::int32_t kExponent = kFormat == HalfFormat::kFp16 ? 0x7c00 : 0x7f80;
  bool sound = true;
  ForEachVector(n, [&](auto d, std::size_t i) {
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<std::uint16_t, decltype(d)> d16;
    const auto half =
        hn::PromoteTo(di, hn::LoadU(d16, reinterpret_cast<const std::uint16_t*>(halves) + i));
    const auto exponent = hn::Set(di, kExponent);
    sound &= hn::AllFalse(di, hn::Eq(hn::And(half, exponent), exponent));
    const auto term = hn::Mul(FromHalf<kFormat>(di, half), hn::Set(d, factor));
    hn::StoreU(hn::Add(hn::LoadU(d, out + i), term), d, out + i);
  });
  return sound;
}

void PackFp16(const float* c, std::size_t n, float* left, std::uint8_t* halves) {
  Pack<HalfFormat::kFp16>(c, n, left, halves);
}
void PackBf16(const float* c, std::size_t n, float* left, std::uint8_t* halves) {
  Pack<HalfFormat::kBf16>(c, n, left, halves);
}
bool AddFp16(const std::uint8_t* halves, float factor, float* out, std::size_t n) {
  return UnpackAdd<HalfFormat::kFp16>(halves, factor, out, n);
}
bool AddBf16(const std::uint8_t* halves, float factor, float* out, std::size_t n) {
  return UnpackAdd<HalfFormat::kBf16>(halves, factor, out, n);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(PackFp16);
HWY_EXPORT(PackBf16);
HWY_EXPORT(AddFp16);
HWY_EXPORT(AddBf16);

/// Elements whose halves fill a cache line.
constexpr std::size_t kGrain = 32;
}  // namespace

void half_pack(std::span<const float> c, HalfFormat format, std::span<float> remainder,
               std::uint8_t* halves) {
  parallel_stretches(c.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    float* const left = remainder.empty() ? nullptr : remainder.data() + begin;
    if (format == HalfFormat::kFp16) {
      HWY_DYNAMIC_DISPATCH(PackFp16)(c.data() + begin, end - begin, left, halves + 2 * begin);
    } else {
      HWY_DYNAMIC_DISPATCH(PackBf16)(c.data() + begin, end - begin, left, halves + 2 * begin);
    }
  });
}

bool half_unpack_add(const std::uint8_t* halves, HalfFormat format, float factor,
                     std::span<float> out) {
  std::atomic<bool> sound = true;
  parallel_stretches(out.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    const std::uint8_t* const from = halves + 2 * begin;
    float* const to = out.data() + begin;
    const bool all = format == HalfFormat::kFp16
                         ? HWY_DYNAMIC_DISPATCH(AddFp16)(from, factor, to, end - begin)
                         : HWY_DYNAMIC_DISPATCH(AddBf16)(from, factor, to, end - begin);
    if (!all) sound = false;
  });
  return sound;
}

}  // namespace thinpipe
#endif  // HWY_ONCE
