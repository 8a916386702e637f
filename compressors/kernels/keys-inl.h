// Vector parts of selections, for inclusion by kernels: the keys of floats, the greatest magnitude
// of an array, and the lanes that a mask selects. Compiled once per instruction set.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "compressors/kernels/keys.h"
#include "compressors/kernels/streams.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_KEYS_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_KEYS_ONCE
namespace thinpipe {
template <std::size_t N>
using CompressTable = std::array<std::array<std::int32_t, N>, std::size_t{1} << N>;

/// Returns, for every mask of N lanes, the lanes that it selects. Row `bits` has the indices of the
/// set bits in order, then zeros.
template <std::size_t N>
constexpr CompressTable<N> make_compress_table() {
  CompressTable<N> table{};
  for (std::size_t bits = 0; bits < table.size(); ++bits) {
    std::size_t count = 0;
    for (std::size_t lane = 0; lane < N; ++lane) {
      if ((bits >> lane & 1) != 0) table[bits][count++] = static_cast<std::int32_t>(lane);
    }
  }
  return table;
}

alignas(64) inline constexpr CompressTable<8> kCompressTable8 = make_compress_table<8>();
alignas(64) inline constexpr CompressTable<4> kCompressTable4 = make_compress_table<4>();
}  // namespace thinpipe
#endif

#if defined(THINPIPE_COMPRESSORS_KERNELS_KEYS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_COMPRESSORS_KERNELS_KEYS_INL_H_
#undef THINPIPE_COMPRESSORS_KERNELS_KEYS_INL_H_
#else
#define THINPIPE_COMPRESSORS_KERNELS_KEYS_INL_H_
#endif

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

/// Returns the greatest magnitude key of x. Reads the four quarters of x as four streams, then the
/// few elements after them.
HWY_INLINE std::int32_t MaxKeyOf(const float* HWY_RESTRICT x, std::size_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
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
  std::size_t i = 4 * quarter;
  for (; i + lanes <= n; i += lanes) {
    m0 = hn::Max(m0, hn::And(hn::LoadU(d, bits + i), magnitude));
  }
  std::int32_t most = hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(m0, m1), hn::Max(m2, m3))));
  for (; i < n; ++i) most = std::max(most, bits[i] & 0x7fffffff);
  return most;
}

/// Returns the greatest key of a few elements in memory order, prefetching elements far ahead.
HWY_INLINE std::int32_t MaxKeyAhead(const float* HWY_RESTRICT x, std::size_t n) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<std::int32_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto magnitude = hn::Set(d, 0x7fffffff);
  const auto* bits = reinterpret_cast<const std::int32_t*>(x);
  auto m0 = hn::Zero(d), m1 = hn::Zero(d), m2 = hn::Zero(d), m3 = hn::Zero(d);
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    for (std::size_t line = 0; line < 4 * lanes; line += lanes) {
      ask_far_ahead(x + i + line);
    }
    m0 = hn::Max(m0, hn::And(hn::LoadU(d, bits + i), magnitude));
    m1 = hn::Max(m1, hn::And(hn::LoadU(d, bits + i + lanes), magnitude));
    m2 = hn::Max(m2, hn::And(hn::LoadU(d, bits + i + 2 * lanes), magnitude));
    m3 = hn::Max(m3, hn::And(hn::LoadU(d, bits + i + 3 * lanes), magnitude));
  }
  for (; i + lanes <= n; i += lanes) {
    m0 = hn::Max(m0, hn::And(hn::LoadU(d, bits + i), magnitude));
  }
  std::int32_t most = hn::GetLane(hn::MaxOfLanes(d, hn::Max(hn::Max(m0, m1), hn::Max(m2, m3))));
  for (; i < n; ++i) most = std::max(most, bits[i] & 0x7fffffff);
  return most;
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

/// Moves the 32-bit lanes that a mask selects to the front of a vector. Uses Highway's Compress
/// where the CPU has an instruction for it. Elsewhere Highway 1.0.3 copies its lookup tables to the
/// stack at every call, which takes 100 times as long as the lookup.
template <class V, class M>
HWY_INLINE V CompressLanes(V v, M mask) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::DFromV<V> d;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_SSSE3
  std::uint64_t bits = 0;
  hn::StoreMaskBits(d, mask, reinterpret_cast<std::uint8_t*>(&bits));
  const std::int32_t* table = nullptr;
  if constexpr (hn::MaxLanes(hn::DFromV<V>()) == 8) {
    table = kCompressTable8[bits].data();
  } else {
    table = kCompressTable4[bits].data();
  }
  return hn::TableLookupLanes(v, hn::SetTableIndices(d, table));
#else
  (void)d;
  return hn::Compress(v, mask);
#endif
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
