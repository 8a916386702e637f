// A block is copied to first-level cache, rotated there if asked for, scaled, coded, decoded again
// for the remainder, and its codes packed.
#include "compressors/kernels/blocks.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/blocks.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
// once per target
#include "compressors/kernels/counter_random-inl.h"
#include "compressors/kernels/hadamard-inl.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_BLOCKS_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_BLOCKS_ONCE
namespace thinpipe {
namespace {

/// So large that no gradient reaches it, so small that no transform of it overflows.
constexpr float kLargest = 0x1p100F;

/// Writes the scale of a block and returns it with its reciprocal.
struct Scale {
  float value = 0;
  float inverse = 0;
};

Scale write_scale(const BlockFormat& format, float max_magnitude, std::byte* at) {
  if (format.scale == BlockScale::kE8M0) {
    const std::uint8_t code = exponent_for(max_magnitude, format.element);
    std::memcpy(at, &code, sizeof code);
    return {value_of_exponent(code), value_of_exponent(static_cast<std::uint8_t>(254 - code))};
  }
  if (format.scale == BlockScale::kGiven) {
    return {format.given, format.given == 0 ? 0 : 1 / format.given};
  }
  float value = exact_scale_for(max_magnitude, format.element);
  if (format.scale == BlockScale::kF16) {
    const std::uint16_t half = half_at_least(value);
    std::memcpy(at, &half, sizeof half);
    value = value_of_half(half);
  } else {
    std::memcpy(at, &value, sizeof value);
  }
  return {value, value == 0 ? 0 : 1 / value};
}

/// Negative where the scale is not one.
float read_scale(const BlockFormat& format, const std::byte* at) {
  if (format.scale == BlockScale::kGiven) return format.given;
  if (format.scale == BlockScale::kE8M0) {
    const auto code = std::to_integer<std::uint8_t>(*at);
    return code == 255 ? -1 : value_of_exponent(code);
  }
  if (format.scale == BlockScale::kF16) {
    std::uint16_t half = 0;
    std::memcpy(&half, at, sizeof half);
    return half >= 0x7c00 ? -1 : value_of_half(half);
  }
  float value = 0;
  std::memcpy(&value, at, sizeof value);
  return std::isfinite(value) && !std::signbit(value) ? value : -1;
}

}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, 16>;
using DI = hn::RebindToSigned<D>;
using DU = hn::RebindToUnsigned<D>;
using D8 = hn::Rebind<std::uint8_t, D>;
using V = hn::Vec<D>;
using VI = hn::Vec<DI>;
using VU = hn::Vec<DU>;

/// Words as numbers in [0, 1) of 24 bits.
HWY_INLINE V RandomUnit(VU words) {
  const D d;
  const DI di;
  return hn::Mul(hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<8>(words))), hn::Set(d, 0x1p-24F));
}

/// Whole numbers of kBits in two's complement.
template <int kBits>
struct IntegerCodec {
  static constexpr int kMost = (1 << (kBits - 1)) - 1;
  static constexpr int kMask = (1 << kBits) - 1;
  static constexpr int kMagnitude = kMask;

  template <bool stochastic>
  static HWY_INLINE VI Encode(V y, VU random) {
    const DI di;
    auto q = hn::Zero(di);
    if constexpr (stochastic) {
      q = hn::ConvertTo(di, hn::Floor(hn::Add(y, RandomUnit(random))));
    } else {
      q = hn::NearestInt(y);  // to even
    }
    // The product by the reciprocal may end an ulp past the greatest element.
    q = hn::Min(hn::Max(q, hn::Set(di, -kMost)), hn::Set(di, kMost));
    return hn::And(q, hn::Set(di, kMask));
  }
  static HWY_INLINE V Decode(VI code) {
    return hn::ConvertTo(D(), hn::ShiftRight<32 - kBits>(hn::ShiftLeft<32 - kBits>(code)));
  }
  static constexpr int kMaxCode = kMask;
};

/// 2^kBits levels around 0.
template <int kBits>
struct LevelCodec {
  static constexpr int kMask = (1 << kBits) - 1;
  static constexpr int kMagnitude = kMask;
  static constexpr int kMaxCode = kMask;
  static constexpr float kMiddle = 0.5F * kMask;

  template <bool stochastic>
  static HWY_INLINE VI Encode(V y, VU random) {
    const D d;
    const DI di;
    // What lies outside the range is clamped; first here, so that it converts.
    const auto limit = hn::Set(d, 2 * kMiddle);
    const auto x = hn::Add(hn::Min(hn::Max(y, hn::Neg(limit)), limit), hn::Set(d, kMiddle));
    auto q = hn::Zero(di);
    if constexpr (stochastic) {
      q = hn::ConvertTo(di, hn::Floor(hn::Add(x, RandomUnit(random))));
    } else {
      q = hn::NearestInt(x);
    }
    return hn::Min(hn::Max(q, hn::Zero(di)), hn::Set(di, kMask));
  }
  static HWY_INLINE V Decode(VI code) {
    const D d;
    return hn::Sub(hn::ConvertTo(d, code), hn::Set(d, kMiddle));
  }
};

/// Floats of 1 + kExponent + kMantissa bits with denormals.
template <int kExponent, int kMantissa, int kBias, int kMaxMagnitudeCode>
struct FloatCodec {
  static constexpr int kMask = (1 << (1 + kExponent + kMantissa)) - 1;
  static constexpr int kMagnitude = kMask >> 1;
  static constexpr int kMaxCode = kMaxMagnitudeCode;  ///< of the magnitude
  static constexpr int kDropped = 23 - kMantissa;
  static constexpr std::int32_t kNormal = (128 - kBias) << 23;  ///< bits of the least normal
  static constexpr std::int32_t kRebias = (127 - kBias) << kMantissa;
  /// 1 / the least denormal.
  static constexpr std::int32_t kDenormal = (127 + kBias - 1 + kMantissa) << 23;

  template <bool stochastic>
  static HWY_INLINE VI Encode(V y, VU random) {
    const D d;
    const DI di;
    const auto bits = hn::BitCast(di, y);
    const auto magnitude = hn::And(bits, hn::Set(di, 0x7fffffff));
    const auto steps = hn::Mul(hn::BitCast(d, magnitude), hn::BitCast(d, hn::Set(di, kDenormal)));
    // Normal: add what rounds up to the mantissa's last bit; the carry goes into the exponent.
    auto up = hn::Zero(di);
    auto few = hn::Zero(di);
    if constexpr (stochastic) {
      up = hn::BitCast(di, hn::ShiftRight<32 - kDropped>(random));
      few = hn::ConvertTo(di, hn::Floor(hn::Add(Limited(steps), RandomUnit(random))));
    } else {
      const auto odd = hn::And(hn::ShiftRight<kDropped>(magnitude), hn::Set(di, 1));
      up = hn::Add(odd, hn::Set(di, (1 << (kDropped - 1)) - 1));
      few = hn::NearestInt(Limited(steps));
    }
    const auto many =
        hn::Sub(hn::ShiftRight<kDropped>(hn::Add(magnitude, up)), hn::Set(di, kRebias));
    const auto normal = hn::Gt(magnitude, hn::Set(di, kNormal - 1));
    const auto code = hn::Min(hn::IfThenElse(normal, many, few), hn::Set(di, kMaxCode));
    const auto sign =
        hn::And(hn::ShiftRight<31 - kExponent - kMantissa>(bits), hn::Set(di, kMagnitude + 1));
    return hn::Or(code, sign);
  }
  static HWY_INLINE V Decode(VI code) {
    const D d;
    const DI di;
    const auto magnitude = hn::And(code, hn::Set(di, kMagnitude));
    const auto many =
        hn::BitCast(d, hn::ShiftLeft<kDropped>(hn::Add(magnitude, hn::Set(di, kRebias))));
    constexpr float kStep = 1.0F / static_cast<float>(1ULL << (kBias - 1 + kMantissa));
    const auto few = hn::Mul(hn::ConvertTo(d, magnitude), hn::Set(d, kStep));
    const auto normal = hn::RebindMask(d, hn::Gt(magnitude, hn::Set(di, (1 << kMantissa) - 1)));
    const auto sign =
        hn::ShiftLeft<31 - kExponent - kMantissa>(hn::And(code, hn::Set(di, kMagnitude + 1)));
    return hn::Or(hn::IfThenElse(normal, many, few), hn::BitCast(d, sign));
  }

 private:
  /// Denormals are at most 2^kMantissa steps; what is more is not used, but must convert.
  static HWY_INLINE V Limited(V steps) {
    return hn::Min(steps, hn::Set(D(), static_cast<float>(2 << kMantissa)));
  }
};

#if HWY_TARGET == HWY_SCALAR
void PackNibbles(const std::uint8_t* codes, std::size_t count, std::uint8_t* packed) {
  for (std::size_t i = 0; 2 * i < count; ++i) {
    packed[i] = static_cast<std::uint8_t>(codes[2 * i] | (codes[2 * i + 1] << 4));
  }
}

void UnpackNibbles(const std::uint8_t* packed, std::size_t count, std::uint8_t* codes) {
  for (std::size_t i = 0; 2 * i < count; ++i) {
    codes[2 * i] = packed[i] & 15;
    codes[2 * i + 1] = packed[i] >> 4;
  }
}
#else
/// Bytes to half as many: two codes each, the earlier one low. `count` is a multiple of 32.
void PackNibbles(const std::uint8_t* HWY_RESTRICT codes, std::size_t count,
                 std::uint8_t* HWY_RESTRICT packed) {
  const hn::CappedTag<std::uint16_t, 16> d16;
  const hn::Repartition<std::uint8_t, decltype(d16)> d8;
  const hn::Rebind<std::uint8_t, decltype(d16)> half;
  const std::size_t lanes = hn::Lanes(d16);
  for (std::size_t i = 0; 2 * i < count; i += lanes) {
    const auto pair = hn::BitCast(d16, hn::LoadU(d8, codes + 2 * i));
    hn::StoreU(hn::TruncateTo(half, hn::Or(pair, hn::ShiftRight<4>(pair))), half, packed + i);
  }
}

void UnpackNibbles(const std::uint8_t* HWY_RESTRICT packed, std::size_t count,
                   std::uint8_t* HWY_RESTRICT codes) {
  const hn::CappedTag<std::uint16_t, 16> d16;
  const hn::Repartition<std::uint8_t, decltype(d16)> d8;
  const hn::Rebind<std::uint8_t, decltype(d16)> half;
  const std::size_t lanes = hn::Lanes(d16);
  for (std::size_t i = 0; 2 * i < count; i += lanes) {
    const auto pair = hn::PromoteTo(d16, hn::LoadU(half, packed + i));
    const auto spread = hn::And(hn::Or(pair, hn::ShiftLeft<4>(pair)), hn::Set(d16, 0x0f0f));
    hn::StoreU(hn::BitCast(d8, spread), d8, codes + 2 * i);
  }
}
#endif

/// Room for one block in first-level cache.
struct Workspace {
  alignas(64) float values[kMaxBlock];
  alignas(64) float source[kMaxBlock];  ///< a block that is not full, filled up with zeros
  alignas(64) std::uint8_t codes[kMaxBlock];
  alignas(64) std::uint8_t packed[kMaxBlock];
};

HWY_INLINE V WithSigns(V x, const BlockRotation& rotation, std::size_t i) {
  return hn::Xor(x, hn::BitCast(D(), hn::LoadU(DU(), rotation.sign_bits.data() + i)));
}

/// 1 / sqrt(n), which makes the transform orthonormal; both operations are exactly rounded.
HWY_INLINE V Norm(std::size_t n) { return hn::Set(D(), 1.0F / std::sqrt(static_cast<float>(n))); }

/// Codes `n` elements, a multiple of kMinBlock. @returns how many are not 0.
template <class Codec, bool stochastic>
HWY_INLINE std::size_t EncodeBlock(const BlockFormat& format, const BlockRotation& rotation,
                                   RandomKey key, std::size_t first, const float* c, std::size_t n,
                                   float* remainder, std::byte* scale_at, Workspace& work) {
  const D d;
  const DI di;
  const DU du;
  const D8 d8;
  const std::size_t lanes = hn::Lanes(d);
  const auto largest = hn::Set(di, std::bit_cast<std::int32_t>(kLargest));
  const auto sign = hn::Set(di, std::numeric_limits<std::int32_t>::min());
  const auto infinity = hn::Set(di, 0x7f800000);
  const auto norm = Norm(n);
  auto most = hn::Zero(di);
  for (std::size_t i = 0; i < n; i += lanes) {
    const auto bits = hn::LoadU(di, reinterpret_cast<const std::int32_t*>(c) + i);
    auto magnitude = hn::AndNot(sign, bits);
    const auto number = hn::Not(hn::Gt(magnitude, infinity));
    magnitude = hn::IfThenElseZero(number, hn::Min(magnitude, largest));
    most = hn::Max(most, magnitude);
    auto x = hn::BitCast(d, hn::Or(magnitude, hn::And(bits, sign)));
    if (format.hadamard) x = WithSigns(hn::Mul(x, norm), rotation, i);
    hn::Store(x, d, work.values + i);
  }
  if (format.hadamard) {
    HadamardInPlace(work.values, n);
    most = hn::Zero(di);
    for (std::size_t i = 0; i < n; i += lanes) {
      const auto bits = hn::BitCast(di, hn::Load(d, work.values + i));
      most = hn::Max(most, hn::AndNot(sign, bits));
    }
  }
  const auto max_magnitude = std::bit_cast<float>(hn::GetLane(hn::MaxOfLanes(di, most)));
  const Scale scale = write_scale(format, max_magnitude, scale_at);
  const auto inverse = hn::Set(d, scale.inverse);
  const auto step = hn::Set(d, scale.value);
  auto counts = hn::Zero(di);
  for (std::size_t i = 0; i < n; i += lanes) {
    // Never more than about twice the greatest element, unless the scale was given.
    const auto y = hn::Mul(hn::Load(d, work.values + i), inverse);
    auto random = hn::Zero(du);
    if constexpr (stochastic) {
      random = CounterRandom(du, key, first + i);
    }
    const auto code = Codec::template Encode<stochastic>(y, random);
    const auto value = Codec::Decode(code);
    const auto nonzero = hn::RebindMask(di, hn::Ne(value, hn::Zero(d)));
    counts = hn::Sub(counts, hn::VecFromMask(di, nonzero));
    hn::StoreU(hn::DemoteTo(d8, code), d8, work.codes + i);
    hn::Store(hn::Mul(value, step), d, work.values + i);
  }
  if (remainder != nullptr) {
    if (format.hadamard) HadamardInPlace(work.values, n);
    const auto float_infinity = hn::BitCast(d, infinity);
    for (std::size_t i = 0; i < n; i += lanes) {
      auto decoded = hn::Load(d, work.values + i);
      if (format.hadamard) decoded = WithSigns(hn::Mul(decoded, norm), rotation, i);
      const auto left = hn::Sub(hn::LoadU(d, c + i), decoded);
      const auto finite = hn::Lt(hn::Abs(left), float_infinity);
      hn::StoreU(hn::IfThenElseZero(finite, left), d, remainder + i);
    }
  }
  return static_cast<std::size_t>(hn::GetLane(hn::SumOfLanes(di, counts)));
}

template <class Codec, bool stochastic>
std::size_t EncodeAll(const BlockFormat& format, const BlockRotation& rotation, RandomKey key,
                      const float* c, std::size_t n, float* remainder, std::byte* scales,
                      std::uint8_t* codes) {
  Workspace work;
  const bool nibbles = element_bits(format.element) == 4;
  std::size_t nonzero = 0;
  for (std::size_t at = 0; at < n; at += format.block, scales += scale_bytes(format.scale)) {
    const std::size_t size = std::min(format.block, n - at);
    const std::size_t coded = coded_elements(format, size);
    float* left = remainder == nullptr ? nullptr : remainder + at;
    const std::size_t first = at;
    const bool whole = size == format.block;
    // One call for both cases: it is inlined.
    std::size_t padded = size;
    const float* from = c + at;
    float* to = left;
    if (!whole) {
      padded = format.hadamard ? coded : (size + kMinBlock - 1) / kMinBlock * kMinBlock;
      std::memset(work.source, 0, padded * sizeof(float));
      std::memcpy(work.source, from, size * sizeof(float));
      from = work.source;
      if (left != nullptr) to = work.source;
    }
    const std::size_t count = EncodeBlock<Codec, stochastic>(format, rotation, key, first, from,
                                                             padded, to, scales, work);
    if (to != left) std::memcpy(left, to, size * sizeof(float));
    nonzero += format.hadamard ? (count == 0 ? 0 : size) : count;
    if (nibbles) {
      if (coded % 2 != 0) work.codes[coded] = 0;
      PackNibbles(work.codes, padded, whole ? codes : work.packed);
      if (!whole) std::memcpy(codes, work.packed, (coded + 1) / 2);
      codes += (coded + 1) / 2;
    } else {
      std::memcpy(codes, work.codes, coded);
      codes += coded;
    }
  }
  return nonzero;
}

template <class Codec>
BlockProblem DecodeAll(const BlockFormat& format, const BlockRotation& rotation,
                       const std::byte* scales, const std::uint8_t* codes, float factor, float* out,
                       std::size_t n) {
  const D d;
  const DI di;
  const D8 d8;
  const std::size_t lanes = hn::Lanes(d);
  Workspace work;
  const bool nibbles = element_bits(format.element) == 4;
  const auto times = hn::Set(d, factor);
  for (std::size_t at = 0; at < n; at += format.block, scales += scale_bytes(format.scale)) {
    const std::size_t size = std::min(format.block, n - at);
    const std::size_t coded = coded_elements(format, size);
    const bool whole = size == format.block;
    const std::size_t padded = (coded + kMinBlock - 1) / kMinBlock * kMinBlock;
    const float scale = read_scale(format, scales);
    if (scale < 0) return BlockProblem::kScale;
    const std::size_t bytes = nibbles ? (coded + 1) / 2 : coded;
    const std::uint8_t* source = codes;
    if (!whole) {
      std::memset(work.packed, 0, padded);
      std::memcpy(work.packed, codes, bytes);
      source = work.packed;
    }
    if (nibbles) {
      UnpackNibbles(source, padded, work.codes);
      source = work.codes;
    }
    codes += bytes;
    if (nibbles && coded % 2 != 0 && source[coded] != 0) return BlockProblem::kPadding;
    const auto step = hn::Set(d, scale);
    auto most = hn::Zero(di);
    for (std::size_t i = 0; i < padded; i += lanes) {
      const auto code = hn::PromoteTo(di, hn::LoadU(d8, source + i));
      most = hn::Max(most, hn::And(code, hn::Set(di, Codec::kMagnitude)));
      hn::Store(hn::Mul(Codec::Decode(code), step), d, work.values + i);
    }
    if (hn::GetLane(hn::MaxOfLanes(di, most)) > Codec::kMaxCode) return BlockProblem::kCode;
    if (format.hadamard) {
      HadamardInPlace(work.values, padded);
      const auto norm = Norm(padded);
      for (std::size_t i = 0; i < padded; i += lanes) {
        const auto x = hn::Mul(hn::Load(d, work.values + i), norm);
        hn::Store(WithSigns(x, rotation, i), d, work.values + i);
      }
    }
    float* to = out + at;
    if (!whole) {
      std::memcpy(work.source, to, size * sizeof(float));
      std::memset(work.source + size, 0, (padded - size) * sizeof(float));
      to = work.source;
    }
    for (std::size_t i = 0; i < padded; i += lanes) {
      const auto term = hn::Mul(times, hn::Load(d, work.values + i));
      hn::StoreU(hn::Add(hn::LoadU(d, to + i), term), d, to + i);
    }
    if (!whole) std::memcpy(out + at, work.source, size * sizeof(float));
  }
  return BlockProblem::kNone;
}

using Int8 = IntegerCodec<8>;
using Int4 = IntegerCodec<4>;
using E4M3 = FloatCodec<4, 3, 7, 0x7e>;
using E5M2 = FloatCodec<5, 2, 15, 0x7b>;
using E2M1 = FloatCodec<2, 1, 1, 0x7>;
using Levels16 = LevelCodec<4>;
using Levels256 = LevelCodec<8>;

template <class Codec>
std::size_t EncodeWith(const BlockFormat& format, const BlockRotation& rotation, RandomKey key,
                       const float* c, std::size_t n, float* remainder, std::byte* scales,
                       std::uint8_t* codes) {
  return format.stochastic
             ? EncodeAll<Codec, true>(format, rotation, key, c, n, remainder, scales, codes)
             : EncodeAll<Codec, false>(format, rotation, key, c, n, remainder, scales, codes);
}

std::size_t Encode(const BlockFormat& format, const BlockRotation& rotation, RandomKey key,
                   const float* c, std::size_t n, float* remainder, std::byte* scales,
                   std::uint8_t* codes) {
  switch (format.element) {
    case BlockElement::kInt8:
      return EncodeWith<Int8>(format, rotation, key, c, n, remainder, scales, codes);
    case BlockElement::kInt4:
      return EncodeWith<Int4>(format, rotation, key, c, n, remainder, scales, codes);
    case BlockElement::kE4M3:
      return EncodeWith<E4M3>(format, rotation, key, c, n, remainder, scales, codes);
    case BlockElement::kE5M2:
      return EncodeWith<E5M2>(format, rotation, key, c, n, remainder, scales, codes);
    case BlockElement::kE2M1:
      return EncodeWith<E2M1>(format, rotation, key, c, n, remainder, scales, codes);
    case BlockElement::kLevels16:
      return EncodeWith<Levels16>(format, rotation, key, c, n, remainder, scales, codes);
    case BlockElement::kLevels256:
      return EncodeWith<Levels256>(format, rotation, key, c, n, remainder, scales, codes);
  }
  return 0;
}

BlockProblem Decode(const BlockFormat& format, const BlockRotation& rotation,
                    const std::byte* scales, const std::uint8_t* codes, float factor, float* out,
                    std::size_t n) {
  switch (format.element) {
    case BlockElement::kInt8:
      return DecodeAll<Int8>(format, rotation, scales, codes, factor, out, n);
    case BlockElement::kInt4:
      return DecodeAll<Int4>(format, rotation, scales, codes, factor, out, n);
    case BlockElement::kE4M3:
      return DecodeAll<E4M3>(format, rotation, scales, codes, factor, out, n);
    case BlockElement::kE5M2:
      return DecodeAll<E5M2>(format, rotation, scales, codes, factor, out, n);
    case BlockElement::kE2M1:
      return DecodeAll<E2M1>(format, rotation, scales, codes, factor, out, n);
    case BlockElement::kLevels16:
      return DecodeAll<Levels16>(format, rotation, scales, codes, factor, out, n);
    case BlockElement::kLevels256:
      return DecodeAll<Levels256>(format, rotation, scales, codes, factor, out, n);
  }
  return BlockProblem::kNone;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(Encode);
HWY_EXPORT(Decode);
}  // namespace

std::size_t encode_blocks(const BlockFormat& format, const BlockRotation& rotation, RandomKey key,
                          std::span<const float> c, std::span<float> remainder, std::byte* scales,
                          std::uint8_t* codes) {
  return HWY_DYNAMIC_DISPATCH(Encode)(format, rotation, key, c.data(), c.size(),
                                      remainder.empty() ? nullptr : remainder.data(), scales,
                                      codes);
}

BlockProblem decode_blocks(const BlockFormat& format, const BlockRotation& rotation,
                           const std::byte* scales, const std::uint8_t* codes, float factor,
                           std::span<float> out) {
  return HWY_DYNAMIC_DISPATCH(Decode)(format, rotation, scales, codes, factor, out.data(),
                                      out.size());
}

}  // namespace thinpipe
#endif  // HWY_ONCE
