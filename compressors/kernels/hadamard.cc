#include "compressors/kernels/transforms.h"

#include <cassert>
#include <cmath>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/hadamard.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
// once per target
#include "compressors/kernels/hadamard-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void Hadamard(float* HWY_RESTRICT x, std::size_t n, float norm) {
  HadamardInPlace(x, n);
  const hn::CappedTag<float, 16> d;
  for (std::size_t i = 0; i < n; i += hn::Lanes(d)) {
    hn::Store(hn::Mul(hn::Load(d, x + i), hn::Set(d, norm)), d, x + i);
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(Hadamard);
}  // namespace

void hadamard(std::span<float> x) {
  assert(x.size() >= 16 && (x.size() & (x.size() - 1)) == 0);
  // Both operations are exactly rounded on every machine.
  const float norm = 1.0F / std::sqrt(static_cast<float>(x.size()));
  HWY_DYNAMIC_DISPATCH(Hadamard)(x.data(), x.size(), norm);
}

}  // namespace thinpipe
#endif  // HWY_ONCE
