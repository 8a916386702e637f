// The greatest magnitude of an array, for inclusion by kernels: compiled once per instruction set.
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "compressors/kernels/streams.h"

#if defined(THINPIPE_MAX_KEY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_MAX_KEY_INL_H_
#undef THINPIPE_MAX_KEY_INL_H_
#else
#define THINPIPE_MAX_KEY_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {

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

}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // per target
