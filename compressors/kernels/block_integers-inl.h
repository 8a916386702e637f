// Elements of a block as integers, and as levels around 0. Compiled once per instruction set.
#include "compressors/kernels/block_lanes-inl.h"

#if defined(THINPIPE_COMPRESSORS_KERNELS_BLOCK_INTEGERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_COMPRESSORS_KERNELS_BLOCK_INTEGERS_INL_H_
#undef THINPIPE_COMPRESSORS_KERNELS_BLOCK_INTEGERS_INL_H_
#else
#define THINPIPE_COMPRESSORS_KERNELS_BLOCK_INTEGERS_INL_H_
#endif

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

}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // once per target
