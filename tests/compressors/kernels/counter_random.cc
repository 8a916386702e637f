// The generator alone, so that tests see the vectors of the quantisers.
#include "tests/compressors/kernels/counter_random.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tests/compressors/kernels/counter_random.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/counter_random-inl.h"
#include "compressors/kernels/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

void Fill(RandomKey key, std::uint32_t first, std::size_t n, std::uint32_t* out) {
  ForEachVector(n, [&](auto d, std::size_t i) {
    const hn::RebindToUnsigned<decltype(d)> du;
    hn::StoreU(CounterRandom(du, key, first + i), du, out + i);
  });
}

void FillPaired(RandomKey key, std::size_t first, std::size_t n, std::uint32_t* out) {
  ForEachRandom(n, key, first, [&](auto d, std::size_t i, auto random) HWY_ATTR {
    const hn::RebindToUnsigned<decltype(d)> du;
    hn::StoreU(random, du, out + i);
  });
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(Fill);
HWY_EXPORT(FillPaired);
}  // namespace

void fill_random(RandomKey key, std::uint32_t first, std::size_t n, std::uint32_t* out) {
  HWY_DYNAMIC_DISPATCH(Fill)(key, first, n, out);
}

void fill_paired_random(RandomKey key, std::size_t first, std::size_t n, std::uint32_t* out) {
  HWY_DYNAMIC_DISPATCH(FillPaired)(key, first, n, out);
}

}  // namespace thinpipe
#endif  // HWY_ONCE
