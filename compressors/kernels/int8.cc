// One vector of floats becomes a quarter of a vector of bytes.
#include "compressors/kernels/quantize.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "compressors/kernels/keys.h"
#include "compressors/kernels/parallel.h"
#include "compressors/kernels/streams.h"
#include "compressors/wire/scale.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/int8.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/keys-inl.h"
#include "compressors/kernels/pack_codes-inl.h"
#include "compressors/kernels/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

std::int32_t MaxKey(const float* x, std::size_t n) { return MaxKeyOf(x, n); }

/// Returns the code of element i in the lowest byte of a lane and writes the remainder. `sound`
/// means that all elements are finite and none exceeds 127 steps by more than the rounding error of
/// 1 / step, so no check is needed.
template <bool sound, class D>
HWY_INLINE auto Round(D d, const float* c, std::size_t i, float step, float inverse, float* left) {
  const hn::RebindToUnsigned<D> du;
  const auto x = hn::LoadU(d, c + i);
  auto y = x;
  if (!sound) {
    const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
    y = hn::IfThenElseZero(hn::Lt(hn::Abs(x), infinity), x);
  }
  y = hn::Mul(y, hn::Set(d, inverse));
  if (!sound) y = hn::Max(hn::Min(y, hn::Set(d, 127.0F)), hn::Set(d, -127.0F));
  // After adding 1.5 * 2^23 the unit in the last place is 1, so the sum is rounded to the nearest
  // integer, ties to even.
  const auto shift = hn::Set(d, 12582912.0F);
  const auto shifted = hn::Add(y, shift);
  StoreLeft(d, x, hn::Mul(hn::Sub(shifted, shift), hn::Set(d, step)), left, i);
  return hn::BitCast(du, shifted);
}

/// Rounds all elements. @returns the number of codes that are not 0. `ahead`: prefetches later
/// elements.
template <bool sound, bool ahead>
HWY_INLINE std::size_t RoundAll(const float* c, std::size_t n, float step, float* left,
                                std::int8_t* HWY_RESTRICT codes) {
  const float inverse = step == 0 ? 0 : 1 / step;
  auto* const bytes = reinterpret_cast<std::uint8_t*>(codes);
  std::size_t zeros = 0;
  std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<float> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::ScalableTag<std::uint8_t> d8;
  const std::size_t lanes = hn::Lanes(d);
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    const auto code = [&](std::size_t at) HWY_ATTR {
      if (ahead) ask_far_ahead(c + at);
      return Round<sound>(d, c, at, step, inverse, left);
    };
    const auto c0 = code(i);
    const auto c1 = code(i + lanes);
    const auto c2 = code(i + 2 * lanes);
    const auto c3 = code(i + 3 * lanes);
    const auto row = JoinBytes(du, c0, c1, c2, c3);
    zeros += hn::CountTrue(d8, hn::Eq(row, hn::Zero(d8)));
    hn::StoreU(row, d8, bytes + i);
  }
#endif
  const hn::CappedTag<float, 1> one;
  for (; i < n; ++i) {
    bytes[i] = static_cast<std::uint8_t>(hn::GetLane(Round<sound>(one, c, i, step, inverse, left)));
    zeros += bytes[i] == 0 ? 1 : 0;
  }
  return n - zeros;
}

template <bool ahead>
HWY_INLINE std::size_t RoundAny(const float* c, std::size_t n, float step, float* left,
                                std::int8_t* HWY_RESTRICT codes) {
  return step < level_step(std::numeric_limits<float>::infinity(), 127)
             ? RoundAll<true, ahead>(c, n, step, left, codes)
             : RoundAll<false, ahead>(c, n, step, left, codes);
}

std::size_t Quantize(const float* c, std::size_t n, float step, float* left,
                     std::int8_t* HWY_RESTRICT codes) {
  return RoundAny<true>(c, n, step, left, codes);
}

std::size_t Buckets(const float* c, std::size_t n, std::size_t bucket, float* left,
                    std::uint8_t* HWY_RESTRICT out) {
  const auto step_of = [&](std::size_t at) HWY_ATTR {
    return level_step(magnitude_of(MaxKeyAhead(c + at, std::min(bucket, n - at))), 127);
  };
  std::size_t nonzero = 0;
  float next = step_of(0);
  for (std::size_t at = 0; at < n; at += bucket) {
    const std::size_t some = std::min(bucket, n - at);
    const float step = next;
    // The next bucket's step is computed already here, so that this bucket is coded while the next
    // bucket's elements arrive from memory. The computation of the step also prefetches later
    // elements.
    if (at + some < n) next = step_of(at + some);
    std::memcpy(out, &step, sizeof step);
    out += sizeof step;
    nonzero += RoundAny<false>(c + at, some, step, left == nullptr ? nullptr : left + at,
                               reinterpret_cast<std::int8_t*>(out));
    out += some;
  }
  return nonzero;
}

void Add(const std::int8_t* HWY_RESTRICT codes, float step, float* HWY_RESTRICT out,
         std::size_t n) {
  ForEachVector(n, [&](auto d, std::size_t i) HWY_ATTR {
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
HWY_EXPORT(Buckets);
HWY_EXPORT(Add);

/// Elements whose codes fill a cache line.
constexpr std::size_t kGrain = 64;
}  // namespace

float max_magnitude(std::span<const float> x) {
  std::atomic<std::int32_t> most = 0;
  parallel_stretches(x.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    const std::int32_t key = HWY_DYNAMIC_DISPATCH(MaxKey)(x.data() + begin, end - begin);
    std::int32_t before = most;
    while (key > before && !most.compare_exchange_weak(before, key)) {
    }
  });
  return magnitude_of(most);
}

std::size_t int8_quantize(std::span<const float> c, float step, std::span<float> remainder,
                          std::int8_t* codes) {
  return sum_of_stretches(c.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    float* const left = remainder.empty() ? nullptr : remainder.data() + begin;
    return HWY_DYNAMIC_DISPATCH(Quantize)(c.data() + begin, end - begin, step, left, codes + begin);
  });
}

std::size_t int8_buckets(std::span<const float> c, std::size_t bucket, std::span<float> remainder,
                         std::uint8_t* out) {
  if (c.empty()) return 0;
  float* const left = remainder.empty() ? nullptr : remainder.data();
  return HWY_DYNAMIC_DISPATCH(Buckets)(c.data(), c.size(), bucket, left, out);
}

void int8_add(const std::int8_t* codes, float step, std::span<float> out) {
  parallel_stretches(out.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(Add)(codes + begin, step, out.data() + begin, end - begin);
  });
}

}  // namespace thinpipe
#endif  // HWY_ONCE
