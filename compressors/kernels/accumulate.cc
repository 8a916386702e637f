// The memories' passes, and the search for an element that is not finite. They work element by
// element, so any vector width gives the same bits.
#include "compressors/kernels/sums.h"

#include <cassert>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "compressors/kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/accumulate.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
// after it
#include "compressors/kernels/vector_loop-inl.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Prefetches the lines of element i of every array one page ahead.
template <class... Array>
HWY_INLINE void Ask(std::size_t i, Array... arrays) {
  (hwy::Prefetch(arrays + i + kAhead), ...);
}

void Accumulate(const float* HWY_RESTRICT g, std::size_t n, float decay, float scale,
                float* HWY_RESTRICT r) {
  if (decay == 1.0F && scale == 1.0F) {
    ForEachVector(n, [&](auto d, std::size_t i) {
      Ask(i, g, r);
      hn::StoreU(Canonical(hn::Add(hn::LoadU(d, r + i), hn::LoadU(d, g + i))), d, r + i);
    });
    return;
  }
  ForEachVector(n, [&](auto d, std::size_t i) {
    Ask(i, g, r);
    const auto kept = hn::Mul(hn::Set(d, decay), hn::LoadU(d, r + i));
    const auto fresh = hn::Mul(hn::Set(d, scale), hn::LoadU(d, g + i));
    hn::StoreU(Canonical(hn::Add(kept, fresh)), d, r + i);
  });
}

void AccumulateMomentum(const float* HWY_RESTRICT g, std::size_t n, float momentum, float scale,
                        float* HWY_RESTRICT u, float* HWY_RESTRICT v) {
  ForEachVector(n, [&](auto d, std::size_t i) {
    Ask(i, g, u, v);
    const auto sum = hn::LoadU(d, v + i);  // before the stores, see source-inl.h
    const auto fresh = hn::Mul(hn::Set(d, scale), hn::LoadU(d, g + i));
    const auto velocity =
        Canonical(hn::Add(hn::Mul(hn::Set(d, momentum), hn::LoadU(d, u + i)), fresh));
    hn::StoreU(velocity, d, u + i);
    hn::StoreU(Canonical(hn::Add(sum, velocity)), d, v + i);
  });
}

void AccumulateNesterov(const float* HWY_RESTRICT g, std::size_t n, float momentum, float scale,
                        float* HWY_RESTRICT u, float* HWY_RESTRICT v) {
  ForEachVector(n, [&](auto d, std::size_t i) {
    Ask(i, g, u, v);
    const auto sum = hn::LoadU(d, v + i);
    const auto fresh = hn::Mul(hn::Set(d, scale), hn::LoadU(d, g + i));
    const auto velocity =
        Canonical(hn::Mul(hn::Set(d, momentum), hn::Add(hn::LoadU(d, u + i), fresh)));
    hn::StoreU(velocity, d, u + i);
    hn::StoreU(Canonical(hn::Add(hn::Add(sum, velocity), fresh)), d, v + i);
  });
}

void AddScaled(const float* HWY_RESTRICT x, std::size_t n, float factor, float* HWY_RESTRICT out) {
  ForEachVector(n, [&](auto d, std::size_t i) {
    Ask(i, x, out);
    const auto term = hn::Mul(hn::Set(d, factor), hn::LoadU(d, x + i));
    hn::StoreU(hn::Add(hn::LoadU(d, out + i), term), d, out + i);
  });
}

/// Returns the index at which the first group of four vectors with a non-finite element begins: all
/// bits of such a float's exponent are set. Without such a group, returns the index at which the
/// last whole group ends.
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
HWY_EXPORT(Accumulate);
HWY_EXPORT(AccumulateMomentum);
HWY_EXPORT(AccumulateNesterov);
HWY_EXPORT(AddScaled);
HWY_EXPORT(FirstSuspect);
}  // namespace

void accumulate(std::span<const float> g, float decay, float scale, std::span<float> r) {
  assert(g.size() == r.size());
  parallel_stretches(g.size(), kLineFloats, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(Accumulate)
    (g.data() + begin, end - begin, decay, scale, r.data() + begin);
  });
}

void accumulate_momentum(std::span<const float> g, float momentum, float scale, std::span<float> u,
                         std::span<float> v) {
  assert(g.size() == u.size() && g.size() == v.size());
  parallel_stretches(g.size(), kLineFloats, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(AccumulateMomentum)
    (g.data() + begin, end - begin, momentum, scale, u.data() + begin, v.data() + begin);
  });
}

void accumulate_nesterov(std::span<const float> g, float momentum, float scale, std::span<float> u,
                         std::span<float> v) {
  assert(g.size() == u.size() && g.size() == v.size());
  parallel_stretches(g.size(), kLineFloats, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(AccumulateNesterov)
    (g.data() + begin, end - begin, momentum, scale, u.data() + begin, v.data() + begin);
  });
}

void add_scaled(std::span<const float> x, float factor, std::span<float> out) {
  assert(x.size() == out.size());
  parallel_stretches(x.size(), kLineFloats, [&](std::size_t begin, std::size_t end) {
    HWY_DYNAMIC_DISPATCH(AddScaled)(x.data() + begin, end - begin, factor, out.data() + begin);
  });
}

std::size_t first_non_finite(std::span<const float> x) {
  for (std::size_t i = HWY_DYNAMIC_DISPATCH(FirstSuspect)(x.data(), x.size()); i < x.size(); ++i) {
    if (!std::isfinite(x[i])) return i;
  }
  return kAllFinite;
}

}  // namespace thinpipe
#endif  // HWY_ONCE
