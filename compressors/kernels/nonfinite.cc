// A float is not finite when all bits of its exponent are set.
#include "compressors/kernels/sums.h"

#include <cmath>
#include <cstdint>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/nonfinite.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Returns the index at which the first group of four vectors with a non-finite element begins.
/// Without such a group, returns the index at which the last whole group ends.
std::size_t FirstSuspect(const float* HWY_RESTRICT x, std::size_t n) {
  const hn::ScalableTag<std::int32_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto magnitude = hn::Set(d, 0x7fffffff);
  const auto largest = hn::Set(d, 0x7f7fffff);
  const auto* bits = reinterpret_cast<const std::int32_t*>(x);
  std::size_t i = 0;
  for (; i + 4 * lanes <= n; i += 4 * lanes) {
    const auto a = hn::And(hn::LoadU(d, bits + i), magnitude);
    const auto b = hn::And(hn::LoadU(d, bits + i + lanes), magnitude);
    const auto c = hn::And(hn::LoadU(d, bits + i + 2 * lanes), magnitude);
    const auto e = hn::And(hn::LoadU(d, bits + i + 3 * lanes), magnitude);
    const auto most = hn::Max(hn::Max(a, b), hn::Max(c, e));
    if (HWY_UNLIKELY(!hn::AllFalse(d, hn::Gt(most, largest)))) break;
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
HWY_EXPORT(FirstSuspect);
}  // namespace

std::size_t first_non_finite(std::span<const float> x) {
  for (std::size_t i = HWY_DYNAMIC_DISPATCH(FirstSuspect)(x.data(), x.size()); i < x.size(); ++i) {
    if (!std::isfinite(x[i])) return i;
  }
  return kAllFinite;
}

}  // namespace thinpipe
#endif  // HWY_ONCE
