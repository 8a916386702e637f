// One vector of floats makes a quarter of a vector of bytes.
#include "compressors/kernels/int8.h"

#include <algorithm>
#include <array>
#include <limits>

#include "compressors/kernels/keys.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/int8.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// The greatest key of the four quarters of x, read as four streams, and of what is left over.
std::int32_t MaxKey(const float* HWY_RESTRICT x, std::size_t n) {
  const hn::ScalableTag<std::int32_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto magnitude = hn::Set(d, 0x7fffffff);
  const auto* bits = reinterpret_cast<const std::int32_t*>(x);
  const std::size_t quarter = n / (4 * lanes) * lanes;
  auto m0 = hn::Zero(d), m1 = hn::Zero(d), m2 = hn::Zero(d), m3 = hn::Zero(d);
  for (std::size_t i = 0; i < quarter; i += lanes) {
    m0 = hn::Max(m0, hn::And(hn::LoadU(d, bits + i), magnitude));
    m1 = hn::Max(m1, hn::And(hn::LoadU(d, bits + quarter + i), magnitude));
    m2 = hn::Max(m2, hn::And(hn::LoadU(d, bits + 2 * quarter + i), magnitude));
    m3 = hn::Max(m3, hn::And(hn::LoadU(d, bits + 3 * quarter + i), magnitude));
  }
  std::int32_t most = hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(m0, m1), hn::Max(m2, m3))));
  for (std::size_t i = 4 * quarter; i < n; ++i) most = std::max(most, bits[i] & 0x7fffffff);
  return most;
}

std::size_t Quantize(const float* c, std::size_t n, float inverse, float step, float* left,
                     std::int8_t* HWY_RESTRICT codes) {
  std::size_t zeros = 0;
  ForEachVector(n, [&](auto d, std::size_t i) {
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<std::int8_t, decltype(d)> d8;
    const auto x = hn::LoadU(d, c + i);
    const auto sound = hn::Lt(hn::Abs(x), hn::Set(d, std::numeric_limits<float>::infinity()));
    const auto scaled = hn::Mul(hn::IfThenElseZero(sound, x), hn::Set(d, inverse));
    const auto limited = hn::Max(hn::Min(scaled, hn::Set(d, 127.0F)), hn::Set(d, -127.0F));
    // 1.5 * 2^23 added, the sum's unit in the last place is 1: the nearest integer, ties to even.
    const auto shift = hn::Set(d, 12582912.0F);
    const auto shifted = hn::Add(limited, shift);
    const auto q = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, shift));
    hn::StoreU(hn::DemoteTo(d8, q), d8, codes + i);
    zeros += hn::CountTrue(di, hn::Eq(q, hn::Zero(di)));
    StoreLeft(d, x, hn::Mul(hn::Sub(shifted, shift), hn::Set(d, step)), left, i);
  });
  return n - zeros;
}

void Add(const std::int8_t* HWY_RESTRICT codes, float step, float* HWY_RESTRICT out,
         std::size_t n) {
  ForEachVector(n, [&](auto d, std::size_t i) {
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<std::int8_t, decltype(d)> d8;
    const auto q = hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(d8, codes + i)));
    hn::StoreU(hn::Add(hn::LoadU(d, out + i), hn::Mul(q, hn::Set(d, step))), d, out + i);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(MaxKey);
HWY_EXPORT(Quantize);
HWY_EXPORT(Add);
}  // namespace

float max_magnitude(std::span<const float> x) {
  return magnitude_of(HWY_DYNAMIC_DISPATCH(MaxKey)(x.data(), x.size()));
}

std::size_t int8_quantize(std::span<const float> c, float step, std::span<float> remainder,
                          std::int8_t* codes) {
  float* const left = remainder.empty() ? nullptr : remainder.data();
  const float inverse = step == 0 ? 0 : 1 / step;
  return HWY_DYNAMIC_DISPATCH(Quantize)(c.data(), c.size(), inverse, step, left, codes);
}

void int8_add(const std::int8_t* codes, float step, std::span<float> out) {
  HWY_DYNAMIC_DISPATCH(Add)(codes, step, out.data(), out.size());
}

}  // namespace thinpipe
#endif  // HWY_ONCE
