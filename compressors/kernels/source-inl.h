// Sources of the vectors of a pass: an array, or a sum that the pass computes and stores on the
// way. For inclusion by kernels: compiled once per instruction set.
//
// A pass that also loads from other arrays does so before it keeps the computed vector. CPUs
// compare the lowest 12 bits of a load's address with those of earlier stores, and a load that
// seems to follow a store to the same address waits for it. Large arrays begin at a page, so their
// elements i have the same lowest bits.
#if defined(THINPIPE_COMPRESSORS_KERNELS_SOURCE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef THINPIPE_COMPRESSORS_KERNELS_SOURCE_INL_H_
#undef THINPIPE_COMPRESSORS_KERNELS_SOURCE_INL_H_
#else
#define THINPIPE_COMPRESSORS_KERNELS_SOURCE_INL_H_
#endif

#include <cstddef>

#include "compressors/kernels/streams.h"
#include "compressors/kernels/sums.h"
#include "compressors/kernels/vector_loop-inl.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {

/// Reads floats in memory.
struct ArraySource {
  const float* x;

  template <class D>
  HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> compute(D d, std::size_t i) const {
    return hwy::HWY_NAMESPACE::LoadU(d, x + i);
  }
  template <class D>
  HWY_INLINE void keep(D /*d*/, hwy::HWY_NAMESPACE::Vec<D> /*value*/, std::size_t /*i*/) const {}
  HWY_INLINE float again(std::size_t i) const { return x[i]; }  ///< a loaded element
  HWY_INLINE void prefetch(std::size_t i) const { hwy::Prefetch(x + i); }
  HWY_INLINE void far_ahead(std::size_t i) const { ask_far_ahead(x + i); }
};

/// The arrays of a sum.
struct SumArrays {
  const float* HWY_RESTRICT g;
  float* HWY_RESTRICT r;

  template <class D>
  HWY_INLINE void keep(D d, hwy::HWY_NAMESPACE::Vec<D> sum, std::size_t i) const {
    hwy::HWY_NAMESPACE::StoreU(sum, d, r + i);
  }
  HWY_INLINE float again(std::size_t i) const { return r[i]; }
  HWY_INLINE void prefetch(std::size_t i) const {
    hwy::Prefetch(g + i);
    hwy::Prefetch(r + i);
  }
  HWY_INLINE void far_ahead(std::size_t i) const {
    ask_far_ahead(g + i);
    ask_far_ahead(r + i);
  }
};

/// Computes r + g and keeps it in r.
struct SumSource : SumArrays {
  template <class D>
  HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> compute(D d, std::size_t i) const {
    namespace hn = hwy::HWY_NAMESPACE;
    return Canonical(hn::Add(hn::LoadU(d, r + i), hn::LoadU(d, g + i)));
  }
};

/// Computes decay * r + scale * g and keeps it in r.
struct ScaledSumSource : SumArrays {
  float decay, scale;

  template <class D>
  HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> compute(D d, std::size_t i) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const auto kept = hn::Mul(hn::Set(d, decay), hn::LoadU(d, r + i));
    const auto fresh = hn::Mul(hn::Set(d, scale), hn::LoadU(d, g + i));
    return Canonical(hn::Add(kept, fresh));
  }
};

/// Computes vector i of a source and keeps it.
template <class D, class Source>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> Load(D d, const Source& source, std::size_t i) {
  const auto value = source.compute(d, i);
  source.keep(d, value, i);
  return value;
}

/// Calls body with the source for a PendingSum.
template <class Body>
HWY_INLINE auto with_source(const PendingSum& sum, Body body) {
  if (sum.decay == 1.0F && sum.scale == 1.0F) return body(SumSource{{sum.g, sum.r}});
  return body(ScaledSumSource{{sum.g, sum.r}, sum.decay, sum.scale});
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
