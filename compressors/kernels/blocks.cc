// Blocks of numbers with a scale each. The file has the element formats, compiled with blocks-inl.h
// once per instruction set, and divides a tensor's blocks among several threads.
#include "compressors/kernels/blocks.h"

#include <atomic>

#include "compressors/kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/blocks.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
// once per target
#include "compressors/kernels/blocks-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace block {

/// Codes integers of kBits in two's complement.
template <int kBits>
struct IntegerCodec {
  static constexpr int kMax = (1 << (kBits - 1)) - 1;
  static constexpr int kMask = (1 << kBits) - 1;
  static constexpr int kMagnitude = kMask;
  static constexpr bool kHasZero = true;

  template <bool stochastic>
  static HWY_INLINE VI Encode(V y, VU random) {
    const DI di;
    auto q = hn::Zero(di);
    if constexpr (stochastic) {
      q = hn::ConvertTo(di, hn::Floor(hn::Add(y, RandomUnit(random))));
    } else {
      q = hn::NearestInt(y);  // to even
    }
    // The product with the reciprocal may end an ulp past the greatest element.
    q = hn::Min(hn::Max(q, hn::Set(di, -kMax)), hn::Set(di, kMax));
    return hn::And(q, hn::Set(di, kMask));
  }
  static HWY_INLINE V Decode(VI code) {
    return hn::ConvertTo(D(), hn::ShiftRight<32 - kBits>(hn::ShiftLeft<32 - kBits>(code)));
  }
  static constexpr int kMaxCode = kMask;
};

/// Codes 2^kBits levels around 0.
template <int kBits>
struct LevelCodec {
  static constexpr int kMask = (1 << kBits) - 1;
  static constexpr int kMagnitude = kMask;
  static constexpr int kMaxCode = kMask;
  static constexpr bool kHasZero = false;
  static constexpr float kMiddle = 0.5F * kMask;

  template <bool stochastic>
  static HWY_INLINE VI Encode(V y, VU random) {
    const D d;
    const DI di;
    // Values outside the range are clamped before the conversion, so that they convert.
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

/// Codes floats of 1 + kExponent + kMantissa bits with denormals.
template <int kExponent, int kMantissa, int kBias, int kMaxMagnitudeCode>
struct FloatCodec {
  static constexpr int kMask = (1 << (1 + kExponent + kMantissa)) - 1;
  static constexpr int kMagnitude = kMask >> 1;
  static constexpr bool kHasZero = true;
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
    // Normal numbers are rounded by an addition to the mantissa bits that are dropped. A carry out
    // of the mantissa increments the exponent, as rounding requires.
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
  /// Limits steps: denormals are at most 2^kMantissa steps. Greater values are not used, but must
  /// convert.
  static HWY_INLINE V Limited(V steps) {
    return hn::Min(steps, hn::Set(D(), static_cast<float>(2 << kMantissa)));
  }
};

using E4M3 = FloatCodec<4, 3, 7, 0x7e>;
using E5M2 = FloatCodec<5, 2, 15, 0x7b>;
using E2M1 = FloatCodec<2, 1, 1, 0x7>;

}  // namespace block

namespace {

std::size_t Encode(const BlockEncoding& job) {
  switch (job.format.element) {
    case BlockElement::kInt8:
      return block::EncodeWith<block::IntegerCodec<8>>(job);
    case BlockElement::kInt4:
      return block::EncodeWith<block::IntegerCodec<4>>(job);
    case BlockElement::kE4M3:
      return block::EncodeWith<block::E4M3>(job);
    case BlockElement::kE5M2:
      return block::EncodeWith<block::E5M2>(job);
    case BlockElement::kE2M1:
      return block::EncodeWith<block::E2M1>(job);
    case BlockElement::kLevels16:
      return block::EncodeWith<block::LevelCodec<4>>(job);
    case BlockElement::kLevels256:
      return block::EncodeWith<block::LevelCodec<8>>(job);
  }
  return 0;
}

BlockProblem Decode(const BlockDecoding& job) {
  switch (job.format.element) {
    case BlockElement::kInt8:
      return block::DecodeAll<block::IntegerCodec<8>>(job);
    case BlockElement::kInt4:
      return block::DecodeAll<block::IntegerCodec<4>>(job);
    case BlockElement::kE4M3:
      return block::DecodeAll<block::E4M3>(job);
    case BlockElement::kE5M2:
      return block::DecodeAll<block::E5M2>(job);
    case BlockElement::kE2M1:
      return block::DecodeAll<block::E2M1>(job);
    case BlockElement::kLevels16:
      return block::DecodeAll<block::LevelCodec<4>>(job);
    case BlockElement::kLevels256:
      return block::DecodeAll<block::LevelCodec<8>>(job);
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

/// Returns the bytes of the scales before element `at`, which begins a block.
std::size_t scales_before(const BlockFormat& format, std::size_t at) {
  return at / format.block * scale_bytes(format.scale);
}

}  // namespace

std::size_t encode_blocks(const BlockFormat& format, const BlockRotation& rotation, RandomKey key,
                          std::span<const float> c, std::span<float> remainder, std::byte* scales,
                          std::uint8_t* codes) {
  return sum_of_stretches(c.size(), format.block, [&](std::size_t begin, std::size_t end) {
    return HWY_DYNAMIC_DISPATCH(Encode)(
        {.format = format,
         .rotation = rotation,
         .key = key,
         .first = begin,
         .c = c.data() + begin,
         .n = end - begin,
         .remainder = remainder.empty() ? nullptr : remainder.data() + begin,
         .scales = scales + scales_before(format, begin),
         .codes = codes + code_bytes(format, begin)});
  });
}

BlockProblem decode_blocks(const BlockFormat& format, const BlockRotation& rotation,
                           const std::byte* scales, const std::uint8_t* codes, float factor,
                           std::span<float> out) {
  std::atomic<BlockProblem> problem = BlockProblem::kNone;
  parallel_stretches(out.size(), format.block, [&](std::size_t begin, std::size_t end) {
    const BlockProblem found =
        HWY_DYNAMIC_DISPATCH(Decode)({.format = format,
                                      .rotation = rotation,
                                      .scales = scales + scales_before(format, begin),
                                      .codes = codes + code_bytes(format, begin),
                                      .factor = factor,
                                      .out = out.data() + begin,
                                      .n = end - begin});
    if (found != BlockProblem::kNone) problem = found;
  });
  return problem;
}

}  // namespace thinpipe
#endif  // HWY_ONCE
