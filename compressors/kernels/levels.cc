// Rounds each element to the level below or above it, as one random number per element decides.
// Codes of 2, 4 and 8 bits are packed in registers. Codes of other sizes are first written as bytes
// to a buffer in first-level cache.
#include "compressors/kernels/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "compressors/kernels/keys.h"
#include "compressors/kernels/parallel.h"
#include "compressors/kernels/streams.h"
#include "compressors/kernels/sums.h"
#include "compressors/wire/scale.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/levels.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/counter_random-inl.h"
#include "compressors/kernels/keys-inl.h"
#include "compressors/kernels/pack_codes-inl.h"
#include "compressors/kernels/vector_loop-inl.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_LEVELS_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_LEVELS_ONCE
namespace thinpipe {
namespace {
constexpr std::size_t kBlock = 2048;  // a multiple of 8: blocks end with a byte
using Codes = std::array<std::uint8_t, kBlock>;

/// Range in which a sum of squares in float is valid: no square that matters was lost to underflow,
/// and no partial sum overflowed.
constexpr float kMinSquares = 0x1p-80F;
constexpr float kMaxSquares = 0x1p120F;
constexpr std::size_t kNormLanes = 16;  // of a row: one vector of AVX-512, two of AVX2
constexpr std::size_t kNormRow = 4 * kNormLanes;
/// Greatest number of elements whose squares are summed in float. Each partial sum then takes 64
/// additions and has an error under 2^-18 in the worst case, some 2^-23 in practice.
constexpr std::size_t kFewElements = 64 * kNormRow;
}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns the code of element i in the lowest bits of a lane; the bits above the code are
/// arbitrary. The code of level 0 may have its sign bit set. `sound` means that all elements are
/// finite.
template <int kBits, bool sound, class D, class VU>
HWY_INLINE VU Round(D d, const float* c, std::size_t i, float step, float inverse, VU random,
                    float* left) {
  constexpr int kFraction = 24 - kBits;  // bits of y and u under the unit
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
  const auto x = hn::LoadU(d, c + i);
  auto magnitude = hn::Abs(x);
  if (!sound) {
    const auto infinity = hn::Set(d, std::numeric_limits<float>::infinity());
    magnitude = hn::IfThenElseZero(hn::Lt(magnitude, infinity), magnitude);
  }
  const auto scaled = hn::Mul(magnitude, hn::Set(d, inverse));
  const auto limited = hn::Min(scaled, hn::Set(d, static_cast<float>(levels_of(kBits))));
  // The mantissa of 2^(kBits-1) + y holds y, with kFraction bits below the unit bit. Adding
  // kFraction random bits carries into the unit bit with a probability equal to the fraction of y.
  const auto placed =
      hn::BitCast(du, hn::Add(limited, hn::Set(d, static_cast<float>(1 << (kBits - 1)))));
  const auto level =
      hn::ShiftRight<kFraction>(hn::Add(placed, hn::ShiftRight<32 - kFraction>(random)));
  if (left != nullptr) {
    const auto whole = hn::And(level, hn::Set(du, static_cast<std::uint32_t>(levels_of(kBits))));
    const auto decoded = hn::Mul(hn::ConvertTo(d, hn::BitCast(di, whole)), hn::Set(d, step));
    StoreLeft(d, x, hn::CopySign(decoded, x), left, i);
  }
  const auto sign = hn::ShiftRight<32 - kBits>(hn::BitCast(du, x));
  return SelectBits(hn::Set(du, 1U << (kBits - 1)), sign, level);
}

/// Clears the sign bit of each code of level 0, and the bits above every code.
/// @returns the number of levels that are not 0.
template <int kBits>
HWY_INLINE std::size_t DropNegativeZeros(std::uint8_t* codes, std::size_t n) {
  constexpr auto kMax = static_cast<std::uint8_t>(levels_of(kBits));
  constexpr auto kMask = static_cast<std::uint8_t>((1 << kBits) - 1);
  std::size_t zeros = 0;
  const auto drop = [&](auto d, std::size_t i) HWY_ATTR {
    const auto code = hn::And(hn::LoadU(d, codes + i), hn::Set(d, kMask));
    const auto is_zero = hn::Eq(hn::And(code, hn::Set(d, kMax)), hn::Zero(d));
    zeros += hn::CountTrue(d, is_zero);
    hn::StoreU(hn::IfThenZeroElse(is_zero, code), d, codes + i);
  };
  const hn::ScalableTag<std::uint8_t> d;
  const hn::CappedTag<std::uint8_t, 1> one;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) drop(d, i);
  for (; i < n; ++i) drop(one, i);
  return n - zeros;
}

template <int kBits>
std::size_t Levels(const float* c, std::size_t n, float step, RandomKey key, std::size_t first,
                   float* left, std::uint8_t* HWY_RESTRICT codes) {
  const float inverse = step == 0 ? 0 : 1 / step;
  ForEachRandom(n, key, first, [&](auto d, std::size_t i, auto random) HWY_ATTR {
    const hn::RebindToUnsigned<decltype(d)> du;
    const hn::Rebind<std::uint8_t, decltype(d)> d8;
    const auto code = Round<kBits, false>(d, c, i, step, inverse, random, left);
    hn::StoreU(hn::TruncateTo(d8, hn::And(code, hn::Set(du, 0xffU))), d8, codes + i);
  });
  return DropNegativeZeros<kBits>(codes, n);
}

#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE  // sizeless vectors form no arrays
/// Codes and packs whole rows of 64 elements from the front, for codes of 2, 4 or 8 bits. The first
/// element's index in the tensor must be a multiple of 32.
/// @returns the number of elements done; adds the number of levels that are not 0 to `nonzero`.
template <int kBits, bool sound>
HWY_INLINE std::size_t PackRows(const float* c, std::size_t n, float step, RandomKey key,
                                std::size_t first, float* left, std::uint8_t* HWY_RESTRICT packed,
                                std::size_t& nonzero) {
  constexpr std::size_t kElements = 64;
  constexpr std::size_t kHalf = RowRandom::kRow;
  const hn::CappedTag<float, kHalf> d;
  const hn::RebindToUnsigned<decltype(d)> du;
  const hn::Repartition<std::uint8_t, decltype(d)> d8;
  constexpr std::size_t kWidth = hn::MaxLanes(decltype(d)());
  hn::Vec<decltype(du)> codes[kElements / kWidth];
  const float inverse = step == 0 ? 0 : 1 / step;
  RowRandom row(key);
  std::size_t zeros = 0;
  std::size_t i = 0;
  for (; i + kElements <= n; i += kElements) {
    for (std::size_t at = 0; at < kElements; at += 2 * kHalf) {
      row.start((first + i + at) / 2);
      for (std::size_t lane = 0; lane < kHalf; lane += kWidth) {
        const std::size_t early = at + lane;
        const std::size_t late = early + kHalf;
        ask_far_ahead(c + i + early);
        ask_far_ahead(c + i + late);
        const auto random = row.vector(du, lane);
        codes[early / kWidth] = Round<kBits, sound>(d, c, i + early, step, inverse, random, left);
        codes[late / kWidth] =
            Round<kBits, sound>(d, c, i + late, step, inverse, hn::RotateRight<16>(random), left);
      }
    }
    for (std::size_t v = 0; v < kElements / kWidth; v += 4) {
      auto bytes = JoinBytes(du, codes[v], codes[v + 1], codes[v + 2], codes[v + 3]);
      bytes = hn::And(bytes, hn::Set(d8, static_cast<std::uint8_t>((1 << kBits) - 1)));
      const auto most = hn::Set(d8, static_cast<std::uint8_t>(levels_of(kBits)));
      const auto is_zero = hn::Eq(hn::And(bytes, most), hn::Zero(d8));
      zeros += hn::CountTrue(d8, is_zero);
      PackVector<kBits>(d8, hn::IfThenZeroElse(is_zero, bytes),
                        packed + (i + v * kWidth) * kBits / 8);
    }
  }
  nonzero += i - zeros;
  return i;
}
#endif

/// Codes and packs elements. @returns the number of levels that are not 0. `sound`: all elements
/// are finite.
template <int kBits, bool sound>
HWY_INLINE std::size_t PackBlocks(const float* c, std::size_t n, float step, RandomKey key,
                                  std::size_t first, float* left, Codes& codes,
                                  std::uint8_t* HWY_RESTRICT packed) {
  std::size_t nonzero = 0;
  std::size_t at = 0;
#if HWY_TARGET != HWY_SCALAR && !HWY_HAVE_SCALABLE
  if constexpr (kBits == 2 || kBits == 4 || kBits == 8) {
    if (first % 32 == 0) {
      at = PackRows<kBits, sound>(c, n, step, key, first, left, packed, nonzero);
    }
  }
#endif
  for (; at < n; at += kBlock) {
    const std::size_t some = std::min(kBlock, n - at);
    nonzero += Levels<kBits>(c + at, some, step, key, first + at,
                             left == nullptr ? nullptr : left + at, codes.data());
    PackCodes(codes.data(), some, kBits, packed + packed_size(at, kBits));
  }
  return nonzero;
}

/// Returns the sum of squares of a few elements, in float. A result below kMinSquares or above
/// kMaxSquares, or a NaN, means that the caller has to sum in double instead.
HWY_INLINE float FewSquares(const float* HWY_RESTRICT x, std::size_t n) {
  const hn::CappedTag<float, kNormLanes> d;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN float sums[kNormLanes];
  const std::size_t rows = n / kNormRow;
  for (std::size_t lane = 0; lane < kNormLanes; lane += lanes) {
    auto s0 = hn::Zero(d), s1 = hn::Zero(d), s2 = hn::Zero(d), s3 = hn::Zero(d);
    for (const float* p = x + lane; p < x + rows * kNormRow; p += kNormRow) {
      const auto a = hn::LoadU(d, p);
      const auto b = hn::LoadU(d, p + kNormLanes);
      const auto e = hn::LoadU(d, p + 2 * kNormLanes);
      const auto f = hn::LoadU(d, p + 3 * kNormLanes);
      s0 = hn::Add(s0, hn::Mul(a, a));
      s1 = hn::Add(s1, hn::Mul(b, b));
      s2 = hn::Add(s2, hn::Mul(e, e));
      s3 = hn::Add(s3, hn::Mul(f, f));
    }
    hn::Store(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)), d, sums + lane);
  }
  float rest = 0;
  for (std::size_t i = rows * kNormRow; i < n; ++i) rest += x[i] * x[i];
  for (std::size_t half = kNormLanes / 2; half > 0; half /= 2) {
    for (std::size_t i = 0; i < half; ++i) sums[i] += sums[i + half];
  }
  return sums[0] + rest;
}

/// Returns the L2 norm with a fixed order of partial sums, so that all instruction sets give the
/// same bits.
HWY_INLINE float Norm(const float* c, std::size_t n) {
  if (n <= kFewElements) {
    const float sum = FewSquares(c, n);
    if (sum >= kMinSquares && sum <= kMaxSquares) return std::sqrt(sum);
  }
  return finite(std::sqrt(sum_of_squares({c, n})));
}

template <int kBits>
std::size_t PackBuckets(const float* c, std::size_t n, std::size_t bucket, LevelRange range,
                        RandomKey key, std::size_t first, float* left,
                        std::uint8_t* HWY_RESTRICT out) {
  const auto step_of = [&](std::size_t at) HWY_ATTR {
    const std::size_t some = std::min(bucket, n - at);
    const float most =
        range == LevelRange::kMax ? magnitude_of(MaxKeyOf(c + at, some)) : Norm(c + at, some);
    return level_step(most, static_cast<float>(levels_of(kBits)));
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float greatest = level_step(kInfinity, static_cast<float>(levels_of(kBits)));
  alignas(64) Codes codes;
  std::size_t nonzero = 0;
  float next = step_of(0);
  for (std::size_t at = 0; at < n; at += bucket) {
    const std::size_t some = std::min(bucket, n - at);
    const float step = next;
    // The next bucket's step is computed while this bucket is coded: its elements arrive meanwhile.
    if (at + some < n) next = step_of(at + some);
    std::memcpy(out, &step, sizeof step);
    out += sizeof step;
    float* const to = left == nullptr ? nullptr : left + at;
    // A bucket with a NaN or an infinity has a step of 0 or the greatest step.
    nonzero += step > 0 && step < greatest
                   ? PackBlocks<kBits, true>(c + at, some, step, key, first + at, to, codes, out)
                   : PackBlocks<kBits, false>(c + at, some, step, key, first + at, to, codes, out);
    out += packed_size(some, kBits);
  }
  return nonzero;
}

/// Calls body with the number of bits as a type.
template <class Body>
HWY_INLINE auto WithBits(int bits, Body body) {
  switch (bits) {
    case 2:
      return body(std::integral_constant<int, 2>());
    case 3:
      return body(std::integral_constant<int, 3>());
    case 4:
      return body(std::integral_constant<int, 4>());
    case 5:
      return body(std::integral_constant<int, 5>());
    case 6:
      return body(std::integral_constant<int, 6>());
    case 7:
      return body(std::integral_constant<int, 7>());
    default:
      return body(std::integral_constant<int, 8>());
  }
}

std::size_t AnyLevels(const float* c, std::size_t n, float step, const LevelRounding& rounding,
                      float* left, std::uint8_t* codes) {
  return WithBits(rounding.bits, [&](auto bits) HWY_ATTR {
    return Levels<bits()>(c, n, step, rounding.key, rounding.first, left, codes);
  });
}

std::size_t PackAny(const float* c, std::size_t n, float step, const LevelRounding& rounding,
                    float* left, std::uint8_t* packed) {
  alignas(64) Codes codes;
  return WithBits(rounding.bits, [&](auto bits) HWY_ATTR {
    return PackBlocks<bits(), false>(c, n, step, rounding.key, rounding.first, left, codes, packed);
  });
}

std::size_t PackAnyBuckets(const float* c, std::size_t n, std::size_t bucket, LevelRange range,
                           const LevelRounding& rounding, float* left, std::uint8_t* packed) {
  return WithBits(rounding.bits, [&](auto bits) HWY_ATTR {
    return PackBuckets<bits()>(c, n, bucket, range, rounding.key, rounding.first, left, packed);
  });
}

bool UnpackAdd(const std::uint8_t* packed, float step, int bits, float* HWY_RESTRICT out,
               std::size_t n) {
  const std::int32_t levels = levels_of(bits);
  alignas(64) Codes codes;
  for (std::size_t first = 0; first < n; first += kBlock) {
    const std::size_t some = std::min(kBlock, n - first);
    if (!UnpackCodes(packed + packed_size(first, bits), some, bits, codes.data())) return false;
    ForEachVector(some, [&](auto d, std::size_t i) HWY_ATTR {
      const hn::RebindToSigned<decltype(d)> di;
      const hn::Rebind<std::uint8_t, decltype(d)> d8;
      const auto code = hn::PromoteTo(di, hn::LoadU(d8, codes.data() + i));
      const auto most = hn::Set(di, levels);
      const auto magnitude = hn::ConvertTo(d, hn::And(code, most));
      const auto level =
          hn::IfThenElse(hn::RebindMask(d, hn::Gt(code, most)), hn::Neg(magnitude), magnitude);
      float* const at = out + first + i;
      hn::StoreU(hn::Add(hn::LoadU(d, at), hn::Mul(level, hn::Set(d, step))), d, at);
    });
  }
  return true;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(AnyLevels);
HWY_EXPORT(PackAny);
HWY_EXPORT(PackAnyBuckets);
HWY_EXPORT(Norm);
HWY_EXPORT(UnpackAdd);

/// Elements whose codes, of any number of bits, end with a cache line.
constexpr std::size_t kGrain = 512;

float* pointer_of(std::span<float> remainder, std::size_t at) {
  return remainder.empty() ? nullptr : remainder.data() + at;
}
}  // namespace

std::size_t pack_levels(std::span<const float> c, float step, const LevelRounding& rounding,
                        std::span<float> remainder, std::uint8_t* packed) {
  return sum_of_stretches(c.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    LevelRounding here = rounding;
    here.first += begin;
    return HWY_DYNAMIC_DISPATCH(PackAny)(c.data() + begin, end - begin, step, here,
                                         pointer_of(remainder, begin),
                                         packed + packed_size(begin, rounding.bits));
  });
}

std::size_t stochastic_levels(std::span<const float> c, float step, const LevelRounding& rounding,
                              std::span<float> remainder, std::uint8_t* codes) {
  return HWY_DYNAMIC_DISPATCH(AnyLevels)(c.data(), c.size(), step, rounding,
                                         pointer_of(remainder, 0), codes);
}

std::size_t pack_level_buckets(std::span<const float> c, std::size_t bucket, LevelRange range,
                               const LevelRounding& rounding, std::span<float> remainder,
                               std::uint8_t* packed) {
  if (c.empty()) return 0;
  return HWY_DYNAMIC_DISPATCH(PackAnyBuckets)(c.data(), c.size(), bucket, range, rounding,
                                              pointer_of(remainder, 0), packed);
}

float l2_norm(std::span<const float> c) { return HWY_DYNAMIC_DISPATCH(Norm)(c.data(), c.size()); }

bool add_packed_levels(const std::uint8_t* packed, float step, int bits, std::span<float> out) {
  return all_stretches(out.size(), kGrain, [&](std::size_t begin, std::size_t end) {
    return HWY_DYNAMIC_DISPATCH(UnpackAdd)(packed + packed_size(begin, bits), step, bits,
                                           out.data() + begin, end - begin);
  });
}

}  // namespace thinpipe
#endif  // HWY_ONCE
