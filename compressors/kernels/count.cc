// Reads four streams; every vector is compared with all limits while it is in a register.
#include "compressors/kernels/select.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "compressors/kernels/parallel.h"
#include "compressors/kernels/streams.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/count.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Adds to counts[j] the number of n magnitudes with a key above below[j]; n < 2^31.
void CountAbove(const float* HWY_RESTRICT x, std::size_t n, const std::int32_t* HWY_RESTRICT below,
                std::size_t* HWY_RESTRICT counts) {
  const hn::ScalableTag<std::int32_t> d;
  const std::size_t lanes = hn::Lanes(d);
  const auto* bits = reinterpret_cast<const std::int32_t*>(x);
  const auto magnitude = hn::Set(d, 0x7fffffff);
  const auto b0 = hn::Set(d, below[0]), b1 = hn::Set(d, below[1]), b2 = hn::Set(d, below[2]),
             b3 = hn::Set(d, below[3]), b4 = hn::Set(d, below[4]), b5 = hn::Set(d, below[5]),
             b6 = hn::Set(d, below[6]), b7 = hn::Set(d, below[7]);
  auto c0 = hn::Zero(d), c1 = hn::Zero(d), c2 = hn::Zero(d), c3 = hn::Zero(d), c4 = hn::Zero(d),
       c5 = hn::Zero(d), c6 = hn::Zero(d), c7 = hn::Zero(d);
  const auto look = [&](const std::int32_t* at) HWY_ATTR {
    const auto key = hn::And(hn::LoadU(d, at), magnitude);
    // A true lane is -1.
    c0 = hn::Sub(c0, hn::VecFromMask(d, hn::Gt(key, b0)));
    c1 = hn::Sub(c1, hn::VecFromMask(d, hn::Gt(key, b1)));
    c2 = hn::Sub(c2, hn::VecFromMask(d, hn::Gt(key, b2)));
    c3 = hn::Sub(c3, hn::VecFromMask(d, hn::Gt(key, b3)));
    c4 = hn::Sub(c4, hn::VecFromMask(d, hn::Gt(key, b4)));
    c5 = hn::Sub(c5, hn::VecFromMask(d, hn::Gt(key, b5)));
    c6 = hn::Sub(c6, hn::VecFromMask(d, hn::Gt(key, b6)));
    c7 = hn::Sub(c7, hn::VecFromMask(d, hn::Gt(key, b7)));
  };
  const std::size_t stride = n / (kStreams * lanes) * lanes;
  for (std::size_t i = 0; i < stride; i += lanes) {
    ask_rows(bits + i, stride);
    look(bits + i);
    look(bits + stride + i);
    look(bits + 2 * stride + i);
    look(bits + 3 * stride + i);
  }
  HWY_ALIGN std::int32_t partial[hn::MaxLanes(d)];
  const auto add = [&](auto sum, std::size_t j) HWY_ATTR {
    hn::Store(sum, d, partial);
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      counts[j] += static_cast<std::size_t>(partial[lane]);
    }
  };
  add(c0, 0);
  add(c1, 1);
  add(c2, 2);
  add(c3, 3);
  add(c4, 4);
  add(c5, 5);
  add(c6, 6);
  add(c7, 7);
  for (std::size_t i = kStreams * stride; i < n; ++i) {
    const std::int32_t key = bits[i] & 0x7fffffff;
    for (std::size_t j = 0; j < kMaxLimits; ++j) counts[j] += key > below[j] ? 1 : 0;
  }
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(CountAbove);
/// Elements at a time: 32-bit counters do not overflow even when a vector has one lane.
constexpr std::size_t kChunk = std::size_t{1} << 30;
}  // namespace

void count_magnitudes(std::span<const float> x, std::span<const std::int32_t> limits,
                      std::span<std::size_t> counts) {
  assert(limits.size() <= kMaxLimits && counts.size() == limits.size());
  std::array<std::int32_t, kMaxLimits> below;
  below.fill(kMaxKey);  // nothing is above it
  std::array<std::array<std::size_t, kMaxLimits>, kMaxSumParts> found{};
  for (std::size_t j = 0; j < limits.size(); ++j) below[j] = limits[j] - 1;
  parallel_sum_parts(x.size(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    for (std::size_t first = begin; first < end; first += kChunk) {
      HWY_DYNAMIC_DISPATCH(CountAbove)
      (x.data() + first, std::min(kChunk, end - first), below.data(), found[part].data());
    }
  });
  std::fill(counts.begin(), counts.end(), 0);
  for (const auto& of_part : found) {
    for (std::size_t j = 0; j < counts.size(); ++j) counts[j] += of_part[j];
  }
}

}  // namespace thinpipe
#endif  // HWY_ONCE
