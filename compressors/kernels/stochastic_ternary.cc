// The five partitions are five streams, as in ternary.cc; each element has its own threshold.
#include "compressors/kernels/quantize.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>

#include "compressors/kernels/parallel.h"
#include "compressors/kernels/streams.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/stochastic_ternary.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

#include "compressors/kernels/counter_random-inl.h"
#include "compressors/kernels/vector_loop-inl.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Packs `bytes` bytes from `begin` on, whose five elements all exist. c and left may be the same
/// array. @returns the number of elements that are not 0.
std::size_t Pack(const float* c, std::size_t partition, std::size_t begin, std::size_t bytes,
                 float scale, RandomKey key, float* left, std::uint8_t* HWY_RESTRICT packed) {
  std::size_t zeros = 0;
  ForEachVector(bytes, [&](auto d, std::size_t offset) {
    const std::size_t i = begin + offset;
    const hn::RebindToSigned<decltype(d)> di;
    const hn::Rebind<std::uint8_t, decltype(d)> d8;
    constexpr std::array<float, 5> kWeights = {81, 27, 9, 3, 1};
    const auto step = hn::Set(d, scale);
    auto code = hn::Set(d, static_cast<float>(kQuarticZero));
    for (std::size_t part = 0; part < kWeights.size(); ++part) {
      const std::size_t at = part * partition + i;
      const auto x = hn::LoadU(d, c + at);
      ask_far_ahead(c + at);
      const auto threshold = hn::Mul(CounterUniform(d, key, at), step);
      const auto sent = hn::Lt(threshold, hn::Abs(x));
      code = hn::Add(code, hn::IfThenElseZero(sent, hn::CopySign(hn::Set(d, kWeights[part]), x)));
      zeros += hn::CountTrue(d, hn::Not(sent));
      StoreLeft(d, x, hn::IfThenElseZero(sent, hn::CopySign(step, x)), left, at);
    }
    hn::StoreU(hn::DemoteTo(d8, hn::ConvertTo(di, code)), d8, packed + i);
  });
  return 5 * bytes - zeros;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(Pack);
}  // namespace

std::size_t stochastic_ternary_pack(std::span<const float> c, float scale, RandomKey key,
                                    std::span<float> remainder, std::uint8_t* packed) {
  const std::size_t bytes = quartic_size(c.size());
  const std::size_t before_last = 4 * bytes;
  const std::size_t full = c.size() > before_last ? c.size() - before_last : 0;
  float* const left = remainder.empty() ? nullptr : remainder.data();
  constexpr std::size_t kLine = 64;  // bytes: no two threads write to one cache line of `packed`
  std::atomic<std::size_t> sent_by_vectors = 0;
  const auto pack = [&](std::size_t begin, std::size_t end) {
    sent_by_vectors +=
        HWY_DYNAMIC_DISPATCH(Pack)(c.data(), bytes, begin, end - begin, scale, key, left, packed);
  };
  parallel_stretches(full, kLine, pack);
  std::size_t nonzero = sent_by_vectors;
  // At most four bytes lack elements at the end of the last partitions.
  for (std::size_t i = full; i < bytes; ++i) {
    unsigned code = 0;
    for (std::size_t part = 0; part < 5; ++part) {
      const std::size_t at = part * bytes + i;
      unsigned digit = 0;
      if (at < c.size()) {
        const float x = c[at];
        const bool sent =
            counter_uniform(key, static_cast<std::uint32_t>(at)) * scale < std::fabs(x);
        digit = !sent ? 1 : std::signbit(x) ? 0 : 2;
        nonzero += sent ? 1 : 0;
        if (left != nullptr) {
          const float difference = x - (sent ? std::copysign(scale, x) : 0.0F);
          left[at] = std::isfinite(difference) ? difference : 0.0F;
        }
      }
      code = code * 3 + digit;
    }
    packed[i] = static_cast<std::uint8_t>(code);
  }
  return nonzero;
}

}  // namespace thinpipe
#endif  // HWY_ONCE
