// Kernels for blocks of integers and of levels around 0. Each combination of format and rounding is
// compiled as a separate loop, so these kernels have a file of their own.
#include "compressors/kernels/blocks.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/block_integers.cc"
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

}  // namespace block

namespace {

std::size_t Encode(const BlockEncoding& job) {
  switch (job.format.element) {
    case BlockElement::kInt8:
      return block::EncodeWith<block::IntegerCodec<8>>(job);
    case BlockElement::kInt4:
      return block::EncodeWith<block::IntegerCodec<4>>(job);
    case BlockElement::kLevels16:
      return block::EncodeWith<block::LevelCodec<4>>(job);
    case BlockElement::kLevels256:
      return block::EncodeWith<block::LevelCodec<8>>(job);
    default:
      return 0;
  }
}

BlockProblem Decode(const BlockDecoding& job) {
  switch (job.format.element) {
    case BlockElement::kInt8:
      return block::DecodeAll<block::IntegerCodec<8>>(job);
    case BlockElement::kInt4:
      return block::DecodeAll<block::IntegerCodec<4>>(job);
    case BlockElement::kLevels16:
      return block::DecodeAll<block::LevelCodec<4>>(job);
    case BlockElement::kLevels256:
      return block::DecodeAll<block::LevelCodec<8>>(job);
    default:
      return BlockProblem::kNone;
  }
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

std::size_t encode_integer_blocks(const BlockEncoding& job) {
  return HWY_DYNAMIC_DISPATCH(Encode)(job);
}

BlockProblem decode_integer_blocks(const BlockDecoding& job) {
  return HWY_DYNAMIC_DISPATCH(Decode)(job);
}

}  // namespace thinpipe
#endif  // HWY_ONCE
