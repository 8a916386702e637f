// key_of for vectors, for inclusion by kernels: compiled once per instruction set.
#if defined(THINPIPE_COMPRESSORS_KERNELS_KEYS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_COMPRESSORS_KERNELS_KEYS_INL_H_
#undef THINPIPE_COMPRESSORS_KERNELS_KEYS_INL_H_
#else
#define THINPIPE_COMPRESSORS_KERNELS_KEYS_INL_H_
#endif

#include "compressors/kernels/keys.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {

/// Returns the keys of floats; D is a tag of 32-bit signed integers.
template <KeyOrder order, class D, class V>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> Keys(D d, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  if constexpr (order == KeyOrder::kMagnitude) {
    return hn::And(hn::BitCast(d, x), hn::Set(d, 0x7fffffff));
  } else {
    const hn::RebindToFloat<D> df;
    // x + 0 turns -0 into +0 and changes no other value.
    const auto canonical = hn::BitCast(d, hn::Add(x, hn::Zero(df)));
    const auto negative = hn::BroadcastSignBit(canonical);
    const auto ascending = hn::Xor(canonical, hn::And(negative, hn::Set(d, 0x7fffffff)));
    return hn::Max(order == KeyOrder::kLargest ? ascending : hn::Not(ascending),
                   hn::Set(d, kMinKey + 1));
  }
}

/// Calls body(std::integral_constant) with the order as a constant.
template <class Body>
HWY_INLINE auto with_order(KeyOrder order, Body body) {
  switch (order) {
    case KeyOrder::kLargest:
      return body(std::integral_constant<KeyOrder, KeyOrder::kLargest>());
    case KeyOrder::kSmallest:
      return body(std::integral_constant<KeyOrder, KeyOrder::kSmallest>());
    case KeyOrder::kMagnitude:
      break;
  }
  return body(std::integral_constant<KeyOrder, KeyOrder::kMagnitude>());
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
