// Compaction: vectors are looked at in groups; a group with nothing to keep costs one test, any
// other is compressed without a branch per vector (one per vector costs more than the memory
// does once a tenth of the elements is kept).
#include "compressors/kernels/compact.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/compact.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// key_of for vectors; x holds the bits of the floats.
template <KeyOrder order, class D, class V>
HWY_INLINE V Keys(D d, V x) {
  if constexpr (order == KeyOrder::kMagnitude) {
    return hn::And(x, hn::Set(d, 0x7fffffff));
  } else {
    const hn::RebindToFloat<D> df;
    // x + 0 turns -0 into +0 and leaves everything else as it is.
    const auto canonical = hn::BitCast(d, hn::Add(hn::BitCast(df, x), hn::Zero(df)));
    const auto negative = hn::BroadcastSignBit(canonical);
    const auto ascending = hn::Xor(canonical, hn::And(negative, hn::Set(d, 0x7fffffff)));
    return hn::Max(order == KeyOrder::kLargest ? ascending : hn::Not(ascending),
                   hn::Set(d, kMinKey + 1));
  }
}

template <KeyOrder order>
HWY_INLINE std::size_t CompactOrder(const float* HWY_RESTRICT x, std::size_t n, std::int32_t limit,
                                    std::uint32_t* HWY_RESTRICT positions,
                                    float* HWY_RESTRICT values) {
  const hn::ScalableTag<std::int32_t> d;
  using D = decltype(d);
  const hn::RebindToFloat<D> df;
  const hn::RebindToUnsigned<D> du;
  const std::size_t lanes = hn::Lanes(d);
  const auto below = hn::Set(d, limit - 1);  // limit > kMinKey: see reachable()
  const auto* bits = reinterpret_cast<const std::int32_t*>(x);
  std::size_t count = 0;
  std::size_t i = 0;

  const auto keep = [&](auto vector, auto mask, std::size_t at) {
    const auto index = hn::Iota(du, static_cast<std::uint32_t>(at));
    const auto mask_u = hn::RebindMask(du, mask);
    hn::StoreU(hn::Compress(index, mask_u), du, positions + count);
    hn::StoreU(hn::Compress(hn::BitCast(df, vector), hn::RebindMask(df, mask)), df, values + count);
    count += hn::CountTrue(d, mask);
  };

  constexpr std::size_t kGroup = 4;  // vectors: 16 to 64 elements behind one test
  for (; i + kGroup * lanes <= n; i += kGroup * lanes) {
    const auto v0 = hn::LoadU(d, bits + i);
    const auto v1 = hn::LoadU(d, bits + i + lanes);
    const auto v2 = hn::LoadU(d, bits + i + 2 * lanes);
    const auto v3 = hn::LoadU(d, bits + i + 3 * lanes);
    const auto m0 = hn::Gt(Keys<order>(d, v0), below);
    const auto m1 = hn::Gt(Keys<order>(d, v1), below);
    const auto m2 = hn::Gt(Keys<order>(d, v2), below);
    const auto m3 = hn::Gt(Keys<order>(d, v3), below);
    if (HWY_LIKELY(hn::AllFalse(d, hn::Or(hn::Or(m0, m1), hn::Or(m2, m3))))) continue;
    keep(v0, m0, i);
    keep(v1, m1, i + lanes);
    keep(v2, m2, i + 2 * lanes);
    keep(v3, m3, i + 3 * lanes);
  }
  for (; i < n; ++i) {
    positions[count] = static_cast<std::uint32_t>(i);
    values[count] = x[i];
    count += key_of(x[i], order) >= limit ? 1 : 0;
  }
  return count;
}

std::size_t Compact(const float* x, std::size_t n, KeyOrder order, std::int32_t limit,
                    std::uint32_t* positions, float* values) {
  switch (order) {
    case KeyOrder::kMagnitude:
      return CompactOrder<KeyOrder::kMagnitude>(x, n, limit, positions, values);
    case KeyOrder::kLargest:
      return CompactOrder<KeyOrder::kLargest>(x, n, limit, positions, values);
    case KeyOrder::kSmallest:
      return CompactOrder<KeyOrder::kSmallest>(x, n, limit, positions, values);
  }
  return 0;
}

template <KeyOrder order>
HWY_INLINE std::size_t CountOrder(const float* HWY_RESTRICT x, std::size_t n, std::int32_t limit) {
  const hn::ScalableTag<std::int32_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto below = hn::Set(d, limit - 1);
  const auto* bits = reinterpret_cast<const std::int32_t*>(x);
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    count += hn::CountTrue(d, hn::Gt(Keys<order>(d, hn::LoadU(d, bits + i)), below));
  }
  for (; i < n; ++i) count += key_of(x[i], order) >= limit ? 1 : 0;
  return count;
}

std::size_t Count(const float* x, std::size_t n, KeyOrder order, std::int32_t limit) {
  switch (order) {
    case KeyOrder::kMagnitude:
      return CountOrder<KeyOrder::kMagnitude>(x, n, limit);
    case KeyOrder::kLargest:
      return CountOrder<KeyOrder::kLargest>(x, n, limit);
    case KeyOrder::kSmallest:
      return CountOrder<KeyOrder::kSmallest>(x, n, limit);
  }
  return 0;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(Compact);
HWY_EXPORT(Count);

/// The kernels compare with limit - 1, which must exist; no key is kMinKey.
std::int32_t reachable(std::int32_t limit) { return limit == kMinKey ? kMinKey + 1 : limit; }
}  // namespace

std::size_t compact(std::span<const float> x, KeyOrder order, std::int32_t limit,
                    std::uint32_t* positions, float* values) {
  return HWY_DYNAMIC_DISPATCH(Compact)(x.data(), x.size(), order, reachable(limit), positions,
                                       values);
}

std::size_t count_at_least(std::span<const float> x, KeyOrder order, std::int32_t limit) {
  return HWY_DYNAMIC_DISPATCH(Count)(x.data(), x.size(), order, reachable(limit));
}

}  // namespace thinpipe
#endif  // HWY_ONCE
