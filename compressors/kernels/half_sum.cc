// Each function is one pass, a vector of floats at a time.
#include "compressors/kernels/quantize.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/half_sum.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/half-inl.h"
#include "compressors/kernels/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

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
void Add(const std::uint16_t* a, const std::uint16_t* b, float scale, std::uint16_t* out,
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
bool Scale(const std::uint16_t* a, float scale, std::uint16_t* out, std::size_t n) {
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

void AddFp16(const std::uint16_t* a, const std::uint16_t* b, float scale, std::uint16_t* out,
             std::size_t n) {
  Add<HalfFormat::kFp16>(a, b, scale, out, n);
}
void AddBf16(const std::uint16_t* a, const std::uint16_t* b, float scale, std::uint16_t* out,
             std::size_t n) {
  Add<HalfFormat::kBf16>(a, b, scale, out, n);
}
bool ScaleFp16(const std::uint16_t* a, float scale, std::uint16_t* out, std::size_t n) {
  return Scale<HalfFormat::kFp16>(a, scale, out, n);
}
bool ScaleBf16(const std::uint16_t* a, float scale, std::uint16_t* out, std::size_t n) {
  return Scale<HalfFormat::kBf16>(a, scale, out, n);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(AddFp16);
HWY_EXPORT(AddBf16);
HWY_EXPORT(ScaleFp16);
HWY_EXPORT(ScaleBf16);

bool scale_halves(std::span<const std::uint16_t> a, float scale, HalfFormat format,
                  std::uint16_t* out) {
  return format == HalfFormat::kFp16
             ? HWY_DYNAMIC_DISPATCH(ScaleFp16)(a.data(), scale, out, a.size())
             : HWY_DYNAMIC_DISPATCH(ScaleBf16)(a.data(), scale, out, a.size());
}
}  // namespace

void half_add(std::span<const std::uint16_t> a, std::span<const std::uint16_t> b, float scale,
              HalfFormat format, std::span<std::uint16_t> out) {
  if (format == HalfFormat::kFp16)
    HWY_DYNAMIC_DISPATCH(AddFp16)(a.data(), b.data(), scale, out.data(), out.size());
  else
    HWY_DYNAMIC_DISPATCH(AddBf16)(a.data(), b.data(), scale, out.data(), out.size());
}

bool half_scale(std::span<const std::uint16_t> a, float scale, HalfFormat format,
                std::span<std::uint16_t> out) {
  return scale_halves(a, scale, format, out.data());
}

bool half_fits(std::span<const std::uint16_t> a, HalfFormat format) {
  return scale_halves(a, 1, format, nullptr);
}

}  // namespace thinpipe
#endif  // HWY_ONCE
