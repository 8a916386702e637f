// Whole tensors of 16-bit floats (half-inl.h).
#include "compressors/kernels/quantize.h"

#include <atomic>

#include "compressors/kernels/parallel.h"
#include "compressors/kernels/streams.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/half.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/half-inl.h"
#include "compressors/kernels/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

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

/// Adds to `out`, or with kSets replaces its elements. Returns true where all are finite.
template <HalfFormat kFormat, bool kSets>
bool Unpack(const std::uint8_t* HWY_RESTRICT halves, float factor, float* HWY_RESTRICT out,
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

void PackFp16(const float* c, std::size_t n, float* left, std::uint8_t* halves) {
  Pack<HalfFormat::kFp16>(c, n, left, halves);
}
void PackBf16(const float* c, std::size_t n, float* left, std::uint8_t* halves) {
  Pack<HalfFormat::kBf16>(c, n, left, halves);
}
bool AddFp16(const std::uint8_t* halves, float factor, float* out, std::size_t n) {
  return Unpack<HalfFormat::kFp16, false>(halves, factor, out, n);
}
bool AddBf16(const std::uint8_t* halves, float factor, float* out, std::size_t n) {
  return Unpack<HalfFormat::kBf16, false>(halves, factor, out, n);
}
bool SetFp16(const std::uint8_t* halves, float factor, float* out, std::size_t n) {
  return Unpack<HalfFormat::kFp16, true>(halves, factor, out, n);
}
bool SetBf16(const std::uint8_t* halves, float factor, float* out, std::size_t n) {
  return Unpack<HalfFormat::kBf16, true>(halves, factor, out, n);
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
HWY_EXPORT(SetFp16);
HWY_EXPORT(SetBf16);

/// Elements whose halves fill a cache line.
constexpr std::size_t kGrain = 32;

/// Runs a kernel on the current threads. @param kernel  (halves, out, n): true where all are finite
template <class Kernel>
bool unpack(const std::uint8_t* halves, std::span<float> out, Kernel kernel) {
  std::atomic<bool> sound = true;
  parallel_stretches(out.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    if (!kernel(halves + 2 * begin, out.data() + begin, end - begin)) sound = false;
  });
  return sound;
}
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
  return unpack(halves, out, [&](const std::uint8_t* from, float* to, std::size_t n) {
    return format == HalfFormat::kFp16 ? HWY_DYNAMIC_DISPATCH(AddFp16)(from, factor, to, n)
                                       : HWY_DYNAMIC_DISPATCH(AddBf16)(from, factor, to, n);
  });
}

bool half_unpack(const std::uint8_t* halves, HalfFormat format, std::span<float> out) {
  return unpack(halves, out, [&](const std::uint8_t* from, float* to, std::size_t n) {
    return format == HalfFormat::kFp16 ? HWY_DYNAMIC_DISPATCH(SetFp16)(from, 1, to, n)
                                       : HWY_DYNAMIC_DISPATCH(SetBf16)(from, 1, to, n);
  });
}

}  // namespace thinpipe
#endif  // HWY_ONCE
