// Whole tensors of 16-bit floats or of powers of two, and sums of 16-bit floats. Each function is
// one pass, a vector of floats at a time. 16-bit floats are converted as in element_type.h, in
// vectors of integers. The conversion instructions of CPUs are not used, because some flush
// denormals and none saturates.
#include "compressors/kernels/quantize.h"

#include "compressors/kernels/parallel.h"
#include "compressors/kernels/streams.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/elements.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/counter_random-inl.h"
#include "compressors/kernels/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns to_half() of the bits of floats.
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

/// Returns to_half_or_infinity().
template <HalfFormat kFormat, class DI, class V = hn::Vec<DI>>
HWY_INLINE V ToHalfOrInfinity(DI di, V bits) {
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
template <HalfFormat kFormat, class DI, class V = hn::Vec<DI>>
HWY_INLINE V HalfToBits(DI di, V half) {
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

template <HalfFormat kFormat, class DI, class V = hn::Vec<DI>>
HWY_INLINE auto FromHalf(DI di, V half) {
  return hn::BitCast(hn::RebindToFloat<DI>(), HalfToBits<kFormat>(di, half));
}

/// Returns from_any_half(), which also converts infinities and NaNs. If all exponent bits of an
/// fp16 number are set, all exponent bits of the binary32 result are set too.
template <HalfFormat kFormat, class DI, class V = hn::Vec<DI>>
HWY_INLINE auto FromAnyHalf(DI di, V half) {
  auto bits = HalfToBits<kFormat>(di, half);
  if constexpr (kFormat == HalfFormat::kFp16) {
    const auto exponent = hn::Set(di, 0x7c00);
    const auto is_special = hn::Eq(hn::And(half, exponent), exponent);
    bits = hn::Or(bits, hn::IfThenElseZero(is_special,
                                           hn::Set(di, static_cast<std::int32_t>(kInfinityBits))));
  }
  return hn::BitCast(hn::RebindToFloat<DI>(), bits);
}

template <HalfFormat kFormat>
void PackAs(const float* c, std::size_t n, float* left, std::uint8_t* HWY_RESTRICT halves) {
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

/// Adds to `out`, or with kSets replaces its elements. Returns true where all are finite.
template <HalfFormat kFormat, bool kSets>
bool UnpackAs(const std::uint8_t* HWY_RESTRICT halves, float factor, float* HWY_RESTRICT out,
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
    if constexpr (kSets)
      hn::StoreU(term, d, out + i);
    else
      hn::StoreU(hn::Add(hn::LoadU(d, out + i), term), d, out + i);
  });
  return sound;
}

/// Returns 16-bit elements i, i + 1, ... as integers of 32 bits.
template <class D>
HWY_INLINE auto LoadHalves(D /*d*/, const std::uint16_t* halves, std::size_t i) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint16_t, D> d16;
  return hn::PromoteTo(di, hn::LoadU(d16, halves + i));
}

template <HalfFormat kFormat, class D, class V = hn::Vec<D>>
HWY_INLINE void StoreHalves(D /*d*/, V x, std::uint16_t* halves, std::size_t i) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint16_t, D> d16;
  const auto rounded = ToHalfOrInfinity<kFormat>(di, hn::BitCast(di, x));
  hn::StoreU(hn::DemoteTo(d16, rounded), d16, halves + i);
}

template <HalfFormat kFormat>
void AddAs(const std::uint16_t* a, const std::uint16_t* b, float scale, std::uint16_t* out,
           std::size_t n) {
  ForEachVector(n, [&](auto d, std::size_t i) {
    const hn::RebindToSigned<decltype(d)> di;
    const auto sum = hn::Add(FromAnyHalf<kFormat>(di, LoadHalves(d, a, i)),
                             FromAnyHalf<kFormat>(di, LoadHalves(d, b, i)));
    StoreHalves<kFormat>(d, hn::Mul(sum, hn::Set(d, scale)), out, i);
  });
}

/// Scales, and returns true where all elements of `a` fit. @param out  null: only tests
template <HalfFormat kFormat>
bool ScaleAs(const std::uint16_t* a, float scale, std::uint16_t* out, std::size_t n) {
  constexpr std::int32_t kMax = kFormat == HalfFormat::kFp16 ? 0x7bff : 0x7f7f;
  bool fits = true;
  ForEachVector(n, [&](auto d, std::size_t i) {
    const hn::RebindToSigned<decltype(d)> di;
    const auto half = LoadHalves(d, a, i);
    const auto magnitude = hn::And(half, hn::Set(di, 0x7fff));
    fits &= hn::AllTrue(di, hn::Lt(magnitude, hn::Set(di, kMax)));
    if (out != nullptr)
      StoreHalves<kFormat>(d, hn::Mul(FromAnyHalf<kFormat>(di, half), hn::Set(d, scale)), out, i);
  });
  return fits;
}

// The kernels by a format that is known at run time.

void Pack(const float* c, std::size_t n, HalfFormat format, float* left, std::uint8_t* halves) {
  if (format == HalfFormat::kFp16) {
    PackAs<HalfFormat::kFp16>(c, n, left, halves);
  } else {
    PackAs<HalfFormat::kBf16>(c, n, left, halves);
  }
}

bool UnpackAdd(const std::uint8_t* halves, HalfFormat format, float factor, float* out,
               std::size_t n) {
  return format == HalfFormat::kFp16 ? UnpackAs<HalfFormat::kFp16, false>(halves, factor, out, n)
                                     : UnpackAs<HalfFormat::kBf16, false>(halves, factor, out, n);
}

bool Unpack(const std::uint8_t* halves, HalfFormat format, float* out, std::size_t n) {
  return format == HalfFormat::kFp16 ? UnpackAs<HalfFormat::kFp16, true>(halves, 1, out, n)
                                     : UnpackAs<HalfFormat::kBf16, true>(halves, 1, out, n);
}

void Add(const std::uint16_t* a, const std::uint16_t* b, float scale, HalfFormat format,
         std::uint16_t* out, std::size_t n) {
  if (format == HalfFormat::kFp16) {
    AddAs<HalfFormat::kFp16>(a, b, scale, out, n);
  } else {
    AddAs<HalfFormat::kBf16>(a, b, scale, out, n);
  }
}

bool Scale(const std::uint16_t* a, float scale, HalfFormat format, std::uint16_t* out,
           std::size_t n) {
  return format == HalfFormat::kFp16 ? ScaleAs<HalfFormat::kFp16>(a, scale, out, n)
                                     : ScaleAs<HalfFormat::kBf16>(a, scale, out, n);
}

/// Rounds stochastically to a power of two by an addition: a random number of 23 bits is added to a
/// float's mantissa bits. With a mantissa of m / 2^23, the sum carries into the exponent for m of
/// the 2^23 random numbers. The float is thus rounded up with probability m / 2^23.
void PackPowers(const float* c, std::size_t n, RandomKey key, std::size_t first, float* left,
                std::uint8_t* HWY_RESTRICT exponents, std::uint8_t* HWY_RESTRICT signs) {
  ForEachVector(n, [&](auto d, std::size_t i) {
    const hn::RebindToSigned<decltype(d)> di;
    const hn::RebindToUnsigned<decltype(d)> du;
    const hn::Rebind<std::uint8_t, decltype(d)> d8;
    const auto x = hn::LoadU(d, c + i);
    ask_far_ahead(c + i);
    const auto bits = hn::BitCast(di, hn::Abs(x));
    const auto is_nan = hn::Gt(bits, hn::Set(di, 0x7f800000));
    const auto random = hn::BitCast(di, hn::ShiftRight<9>(CounterRandom(du, key, first + i)));
    const auto carried = hn::Min(hn::Add(bits, random), hn::Set(di, 0x7f7fffff));
    const auto exponent = hn::IfThenZeroElse(is_nan, hn::ShiftRight<23>(carried));
    hn::StoreU(hn::DemoteTo(d8, exponent), d8, exponents + i);
    StoreBits(d, hn::RebindMask(d, hn::Lt(hn::BitCast(di, x), hn::Zero(di))), signs, i);
    const auto decoded = hn::BitCast(d, hn::ShiftLeft<23>(exponent));
    StoreLeft(d, x, hn::CopySign(decoded, x), left, i);
  });
}

bool AddPowers(const std::uint8_t* HWY_RESTRICT exponents, const std::uint8_t* HWY_RESTRICT signs,
               float factor, float* HWY_RESTRICT out, std::size_t n) {
  bool sound = true;
  ForEachVector(n, [&](auto d, std::size_t i) {
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<std::uint8_t, decltype(d)> d8;
    const auto exponent = hn::PromoteTo(di, hn::LoadU(d8, exponents + i));
    sound &= hn::AllFalse(di, hn::Eq(exponent, hn::Set(di, 255)));
    const auto magnitude = hn::BitCast(d, hn::ShiftLeft<23>(exponent));
    const auto value = hn::IfThenElse(LoadBits(d, signs, i), hn::Neg(magnitude), magnitude);
    hn::StoreU(hn::Add(hn::LoadU(d, out + i), hn::Mul(value, hn::Set(d, factor))), d, out + i);
  });
  return sound;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(Pack);
HWY_EXPORT(UnpackAdd);
HWY_EXPORT(Unpack);
HWY_EXPORT(Add);
HWY_EXPORT(Scale);
HWY_EXPORT(PackPowers);
HWY_EXPORT(AddPowers);

/// Elements whose halves fill a cache line.
constexpr std::size_t kGrain = 32;
/// Elements whose sign bits fill a cache line.
constexpr std::size_t kSignGrain = 512;
}  // namespace

void half_pack(std::span<const float> c, HalfFormat format, std::span<float> remainder,
               std::uint8_t* halves) {
  parallel_stretches(c.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    float* const left = remainder.empty() ? nullptr : remainder.data() + begin;
    HWY_DYNAMIC_DISPATCH(Pack)(c.data() + begin, end - begin, format, left, halves + 2 * begin);
  });
}

bool half_unpack_add(const std::uint8_t* halves, HalfFormat format, float factor,
                     std::span<float> out) {
  return all_stretches(out.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    return HWY_DYNAMIC_DISPATCH(UnpackAdd)(halves + 2 * begin, format, factor, out.data() + begin,
                                           end - begin);
  });
}

bool half_unpack(const std::uint8_t* halves, HalfFormat format, std::span<float> out) {
  return all_stretches(out.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    return HWY_DYNAMIC_DISPATCH(Unpack)(halves + 2 * begin, format, out.data() + begin,
                                        end - begin);
  });
}

void half_add(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b, float scale,
              HalfFormat format, std::span<std::uint16_t> out) {
  HWY_DYNAMIC_DISPATCH(Add)(a.data(), b.data(), scale, format, out.data(), out.size());
}

bool half_scale(std::span<const std::uint16_t> a, float scale, HalfFormat format,
                std::span<std::uint16_t> out) {
  return HWY_DYNAMIC_DISPATCH(Scale)(a.data(), scale, format, out.data(), a.size());
}

bool half_fits(std::span<const std::uint16_t> a, HalfFormat format) {
  return HWY_DYNAMIC_DISPATCH(Scale)(a.data(), 1, format, nullptr, a.size());
}

void natural_pack(std::span<const float> c, RandomKey key, std::span<float> remainder,
                  std::uint8_t* exponents, std::uint8_t* signs) {
  parallel_stretches(c.size(), kSignGrain, [&](std::size_t begin, std::size_t end) {
    float* const left = remainder.empty() ? nullptr : remainder.data() + begin;
    HWY_DYNAMIC_DISPATCH(PackPowers)
    (c.data() + begin, end - begin, key, begin, left, exponents + begin, signs + begin / 8);
  });
}

bool natural_unpack_add(const std::uint8_t* exponents, const std::uint8_t* signs, float factor,
                        std::span<float> out) {
  return all_stretches(out.size(), kSignGrain, [&](std::size_t begin, std::size_t end) {
    return HWY_DYNAMIC_DISPATCH(AddPowers)(exponents + begin, signs + begin / 8, factor,
                                           out.data() + begin, end - begin);
  });
}

}  // namespace thinpipe
#endif  // HWY_ONCE
