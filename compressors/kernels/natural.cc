// Rounds stochastically to a power of two by an addition: a random number of 23 bits is added to a
// float's mantissa bits. With a mantissa of m / 2^23, the sum carries into the exponent for m of
// the 2^23 random numbers. The float is thus rounded up with probability m / 2^23.
#include "compressors/kernels/quantize.h"

#include <atomic>

#include "compressors/kernels/parallel.h"
#include "compressors/kernels/streams.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/natural.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/counter_random-inl.h"
#include "compressors/kernels/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void Pack(const float* c, std::size_t n, RandomKey key, std::size_t first, float* left,
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

bool UnpackAdd(const std::uint8_t* HWY_RESTRICT exponents, const std::uint8_t* HWY_RESTRICT signs,
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

/// Elements whose sign bits fill a cache line.
constexpr std::size_t kGrain = 512;
}  // namespace

void natural_pack(std::span<const float> c, RandomKey key, std::span<float> remainder,
                  std::uint8_t* exponents, std::uint8_t* signs) {
  parallel_stretches(c.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    float* const left = remainder.empty() ? nullptr : remainder.data() + begin;
    HWY_DYNAMIC_DISPATCH(Pack)
    (c.data() + begin, end - begin, key, begin, left, exponents + begin, signs + begin / 8);
  });
}

bool natural_unpack_add(const std::uint8_t* exponents, const std::uint8_t* signs, float factor,
                        std::span<float> out) {
  std::atomic<bool> sound = true;
  parallel_stretches(out.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    const bool all = HWY_DYNAMIC_DISPATCH(UnpackAdd)(exponents + begin, signs + begin / 8, factor,
                                                     out.data() + begin, end - begin);
    if (!all) sound = false;
  });
  return sound;
}

}  // namespace thinpipe
#endif  // HWY_ONCE
