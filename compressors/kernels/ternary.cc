// The five partitions are five streams: a vector of each gives a vector of bytes. In stochastic
// packing, each element has its own threshold.
#include "compressors/kernels/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "compressors/kernels/keys.h"
#include "compressors/kernels/parallel.h"
#include "compressors/kernels/streams.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/ternary.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/counter_random-inl.h"
#include "compressors/kernels/keys-inl.h"
#include "compressors/kernels/vector_loop-inl.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_TERNARY_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_TERNARY_ONCE
namespace thinpipe {
namespace {

constexpr std::array<int, 5> kPowers = {81, 27, 9, 3, 1};

/// Returns the limit that 2 |c| must reach for an element to be sent. For scale 0 the limit is a
/// NaN, which no number reaches, not even an infinity.
float least_sent(float scale) {
  return scale == 0 ? std::numeric_limits<float>::quiet_NaN() : scale;
}

/// Arguments of ternary_pack(); c and remainder may be the same array.
struct Packing {
  const float* c;
  std::size_t partition;  ///< bytes
  float scale;
  float limit;  ///< least 2 |c| of a sent element
  float* remainder;
  std::uint8_t* packed;
};

/// Packs one byte without vectors; adds to `nonzero`.
std::uint8_t pack_byte(std::span<const float> c, std::size_t bytes, std::size_t i, float scale,
                       float limit, float* left, std::size_t& nonzero) {
  int code = 0;
  for (std::size_t part = 0; part < kPowers.size(); ++part) {
    const std::size_t at = part * bytes + i;
    if (at >= c.size()) break;
    const float magnitude = std::fabs(c[at]);
    const bool sent = magnitude + magnitude >= limit;
    const int q = !sent ? 0 : std::signbit(c[at]) ? -1 : 1;
    code += kPowers[part] * (q + 1);
    nonzero += sent ? 1 : 0;
    if (left != nullptr) {
      const float difference = c[at] - scale * static_cast<float>(q);
      left[at] = std::isfinite(difference) ? difference : 0.0F;
    }
  }
  return static_cast<std::uint8_t>(code);
}

}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Weights = std::array<float, 5>;

/// Packs whole vectors of bytes from `begin` on, whose five elements all exist.
/// @returns the end of the bytes done; adds to `nonzero`.
template <bool ahead, class D>
HWY_INLINE std::size_t PackVectors(D d, const Packing& to, std::size_t begin, std::size_t end,
                                   std::size_t* nonzero) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<std::uint8_t, D> d8;
  const std::size_t lanes = hn::Lanes(d);
  constexpr Weights kWeights = {81, 27, 9, 3, 1};
  const auto at_least = hn::Set(d, to.limit);
  const auto step = hn::Set(d, to.scale);
  // After adding 2^23, the last byte of a float's bits is the number.
  constexpr float kShift = 8388608;
  std::size_t sent_in_all = 0;
  std::size_t i = begin;
  for (; i + lanes <= end; i += lanes) {
    auto code = hn::Set(d, kShift + static_cast<float>(kQuarticZero));
    for (std::size_t part = 0; part < kWeights.size(); ++part) {
      const std::size_t at = part * to.partition + i;
      const auto x = hn::LoadU(d, to.c + at);
      if (ahead) ask_far_ahead(to.c + at);
      const auto magnitude = hn::Abs(x);
      // |c / scale| >= 1/2 without a division: 2 |c| is exact or infinite.
      const auto sent = hn::Ge(hn::Add(magnitude, magnitude), at_least);
      code = hn::Add(code, hn::IfThenElseZero(sent, hn::CopySign(hn::Set(d, kWeights[part]), x)));
      sent_in_all += hn::CountTrue(d, sent);
      if (to.remainder == nullptr) continue;
      StoreLeft(d, x, hn::IfThenElseZero(sent, hn::CopySign(step, x)), to.remainder, at);
    }
    const auto byte = hn::And(hn::BitCast(du, code), hn::Set(du, 0xffU));
    hn::StoreU(hn::TruncateTo(d8, byte), d8, to.packed + i);
  }
  *nonzero += sent_in_all;
  return i;
}

/// Packs the whole vectors of all bytes from `begin` to `end`.
std::size_t Pack(const Packing& to, std::size_t begin, std::size_t end, std::size_t* nonzero) {
  return PackVectors<true>(hn::ScalableTag<float>(), to, begin, end, nonzero);
}

/// Packs buckets: scales at `scales`, their bytes one after the other.
std::size_t PackBuckets(const float* c, std::size_t n, std::size_t bucket, float sparsity,
                        float* remainder, std::uint8_t* HWY_RESTRICT scales,
                        std::uint8_t* HWY_RESTRICT packed) {
  const auto scale_of = [&](std::size_t at) HWY_ATTR {
    return ternary_scale(sparsity, magnitude_of(MaxKeyAhead(c + at, std::min(bucket, n - at))));
  };
  std::size_t nonzero = 0;
  float next = scale_of(0);
  for (std::size_t at = 0; at < n; at += bucket) {
    const std::size_t some = std::min(bucket, n - at);
    const float scale = next;
    // The next bucket's scale is computed while this bucket is coded: its elements arrive
    // meanwhile.
    if (at + some < n) next = scale_of(at + some);
    std::memcpy(scales, &scale, sizeof scale);
    scales += sizeof scale;
    const Packing to = {c + at,
                        quartic_size(some),
                        scale,
                        least_sent(scale),
                        remainder == nullptr ? nullptr : remainder + at,
                        packed};
    const std::size_t full = full_quartic_bytes(some);
    std::size_t i = PackVectors<false>(hn::CappedTag<float, 16>(), to, 0, full, &nonzero);
    i = PackVectors<false>(hn::CappedTag<float, 4>(), to, i, full, &nonzero);
    for (; i < to.partition; ++i) {
      packed[i] =
          pack_byte({c + at, some}, to.partition, i, scale, to.limit, to.remainder, nonzero);
    }
    packed += to.partition;
  }
  return nonzero;
}

/// Packs stochastically `bytes` bytes from `begin` on, whose five elements all exist. c and left
/// may be the same array. @returns the number of elements that are not 0.
std::size_t PackAtRandom(const float* c, std::size_t partition, std::size_t begin,
                         std::size_t bytes, float scale, RandomKey key, float* left,
                         std::uint8_t* HWY_RESTRICT packed) {
  std::size_t zeros = 0;
  ForEachVector(bytes, [&](auto d, std::size_t offset) {
    const std::size_t i = begin + offset;
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<std::uint8_t, decltype(d)> d8;
    constexpr Weights kWeights = {81, 27, 9, 3, 1};
    const auto step = hn::Set(d, scale);
    auto code = hn::Set(d, static_cast<float>(kQuarticZero));
    for (std::size_t part = 0; part < kWeights.size(); ++part) {
      const std::size_t at = part * partition + i;
      const auto x = hn::LoadU(d, c + at);
      ask_far_ahead(c + at);
      const auto threshold = hn::Mul(CounterUniform(d, key, at), step);
      const auto sent = hn::Lt(threshold, hn::Abs(x));
      code = hn::Add(code, hn::IfThenElseZero(sent, hn::CopySign(hn::Set(d, kWeights[part]), x)));
      zeros += hn::CountTrue(d, hn::Not(sent));
      StoreLeft(d, x, hn::IfThenElseZero(sent, hn::CopySign(step, x)), left, at);
    }
    hn::StoreU(hn::DemoteTo(d8, hn::ConvertTo(di, code)), d8, packed + i);
  });
  return 5 * bytes - zeros;
}

/// Unpacks whole vectors of bytes. @returns the bytes done.
std::size_t Unpack(const std::uint8_t* HWY_RESTRICT packed, std::size_t count,
                   std::size_t partition, float value, float* HWY_RESTRICT out) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  const std::size_t lanes = hn::Lanes(d);
  const auto step = hn::Set(d, value);
  const auto one = hn::Set(di, 1);
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    auto rest = hn::PromoteTo(di, hn::LoadU(d8, packed + i));
    const auto add = [&](std::size_t part, auto digit) {
      float* to = out + part * partition + i;
      const auto term = hn::Mul(hn::ConvertTo(d, hn::Sub(digit, one)), step);
      hn::StoreU(hn::Add(hn::LoadU(d, to), term), d, to);
    };
    // Divisions by 81, 27, 9 and 3 as products and shifts, exact for the dividends that occur (up
    // to 242, 80, 26 and 8; a test tries all).
    const auto d0 = hn::ShiftRight<14>(hn::Mul(rest, hn::Set(di, 203)));
    rest = hn::Sub(rest, hn::Mul(d0, hn::Set(di, 81)));
    const auto d1 = hn::ShiftRight<9>(hn::Mul(rest, hn::Set(di, 19)));
    rest = hn::Sub(rest, hn::Mul(d1, hn::Set(di, 27)));
    const auto d2 = hn::ShiftRight<9>(hn::Mul(rest, hn::Set(di, 57)));
    rest = hn::Sub(rest, hn::Mul(d2, hn::Set(di, 9)));
    const auto d3 = hn::ShiftRight<5>(hn::Mul(rest, hn::Set(di, 11)));
    rest = hn::Sub(rest, hn::Mul(d3, hn::Set(di, 3)));
    add(0, d0);
    add(1, d1);
    add(2, d2);
    add(3, d3);
    add(4, rest);
  }
  return i;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {

HWY_EXPORT(Pack);
HWY_EXPORT(PackBuckets);
HWY_EXPORT(PackAtRandom);
HWY_EXPORT(Unpack);

constexpr std::size_t kLine = 64;  // bytes: no two threads write to one cache line of `packed`
}  // namespace

std::size_t ternary_pack(std::span<const float> c, float scale, std::span<float> remainder,
                         std::uint8_t* packed) {
  const std::size_t bytes = quartic_size(c.size());
  const float limit = least_sent(scale);
  float* const left = remainder.empty() ? nullptr : remainder.data();
  return sum_of_stretches(bytes, kLine, [&](std::size_t begin, std::size_t end) {
    std::size_t sent = 0;
    std::size_t i = std::min(end, full_quartic_bytes(c.size()));
    if (begin < i) {
      i = HWY_DYNAMIC_DISPATCH(Pack)({c.data(), bytes, scale, limit, left, packed}, begin, i,
                                     &sent);
    } else {
      i = begin;
    }
    for (; i < end; ++i) packed[i] = pack_byte(c, bytes, i, scale, limit, left, sent);
    return sent;
  });
}

std::size_t ternary_pack_buckets(std::span<const float> c, std::size_t bucket, float sparsity,
                                 std::span<float> remainder, std::uint8_t* scales,
                                 std::uint8_t* packed) {
  if (c.empty()) return 0;
  float* const left = remainder.empty() ? nullptr : remainder.data();
  return HWY_DYNAMIC_DISPATCH(PackBuckets)(c.data(), c.size(), bucket, sparsity, left, scales,
                                           packed);
}

std::size_t stochastic_ternary_pack(std::span<const float> c, float scale, RandomKey key,
                                    std::span<float> remainder, std::uint8_t* packed) {
  const std::size_t bytes = quartic_size(c.size());
  const std::size_t full = full_quartic_bytes(c.size());
  float* const left = remainder.empty() ? nullptr : remainder.data();
  std::size_t nonzero = sum_of_stretches(full, kLine, [&](std::size_t begin, std::size_t end) {
    return HWY_DYNAMIC_DISPATCH(PackAtRandom)(c.data(), bytes, begin, end - begin, scale, key, left,
                                              packed);
  });
  // At most four bytes lack elements at the end of the last partitions.
  for (std::size_t i = full; i < bytes; ++i) {
    unsigned code = 0;
    for (std::size_t part = 0; part < 5; ++part) {
      const std::size_t at = part * bytes + i;
      unsigned digit = 0;
      if (at < c.size()) {
        const float x = c[at];
        const bool sent =
            counter_uniform(key, static_cast<std::uint32_t>(at)) * scale < std::fabs(x);
        digit = !sent ? 1 : std::signbit(x) ? 0 : 2;
        nonzero += sent ? 1 : 0;
        if (left != nullptr) {
          const float difference = x - (sent ? std::copysign(scale, x) : 0.0F);
          left[at] = std::isfinite(difference) ? difference : 0.0F;
        }
      }
      code = code * 3 + digit;
    }
    packed[i] = static_cast<std::uint8_t>(code);
  }
  return nonzero;
}

bool ternary_unpack_add(const std::uint8_t* packed, std::size_t count, std::size_t first,
                        float value, std::span<float> out) {
  const std::size_t partition = quartic_size(out.size());
  const std::size_t full = full_quartic_bytes(out.size());
  const std::size_t whole = first < full ? std::min(count, full - first) : 0;
  std::size_t i = 0;
  constexpr std::size_t kWorthwhile = 16;  // shorter runs are done before a vector would start
  if (whole >= kWorthwhile) {
    i = HWY_DYNAMIC_DISPATCH(Unpack)(packed, whole, partition, value, out.data() + first);
  }
  for (; i < count; ++i) {
    int rest = packed[i];
    for (std::size_t part = 0; part < kPowers.size(); ++part) {
      const int digit = rest / kPowers[part];
      rest -= digit * kPowers[part];
      const std::size_t at = part * partition + first + i;
      if (at < out.size()) {
        out[at] += static_cast<float>(digit - 1) * value;
      } else if (digit != 0) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace thinpipe
#endif  // HWY_ONCE
