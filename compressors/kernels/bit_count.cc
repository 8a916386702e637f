// Counts bits in vectors of words; portable code for one word takes a dozen instructions.
#include "compressors/kernels/select.h"

#include <bit>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/bit_count.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

std::size_t CountBits(const std::uint64_t* words, std::size_t n) {
  const hn::ScalableTag<std::uint64_t> d;
  auto sum = hn::Zero(d);
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    sum = hn::Add(sum, hn::PopulationCount(hn::LoadU(d, words + i)));
  }
  std::size_t count = hn::GetLane(hn::SumOfLanes(d, sum));
  for (; i < n; ++i) count += static_cast<std::size_t>(std::popcount(words[i]));
  return count;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(CountBits);
}  // namespace

std::size_t count_bits(std::span<const std::uint64_t> words) {
  return HWY_DYNAMIC_DISPATCH(CountBits)(words.data(), words.size());
}

}  // namespace thinpipe
#endif  // HWY_ONCE
