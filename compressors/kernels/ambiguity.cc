// Reads r, q and v, writes v back, and compacts the chosen elements.
#include "compressors/kernels/select.h"

#include <array>
#include <cassert>
#include <cstring>
#include <limits>

#include "compressors/kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/ambiguity.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
// after it
#include "compressors/kernels/compress-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

std::size_t Choose(const float* HWY_RESTRICT r, const float* HWY_RESTRICT q, std::size_t n,
                   const AmbiguityOptions& options, float* HWY_RESTRICT v,
                   std::uint32_t* HWY_RESTRICT positions, float* HWY_RESTRICT values,
                   float* HWY_RESTRICT variances) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::RebindToUnsigned<decltype(d)> du;
  const std::size_t lanes = hn::Lanes(d);
  constexpr float kMax = std::numeric_limits<float>::max();
  const auto alpha = hn::Set(d, options.alpha);
  const auto zeta = hn::Set(d, options.zeta);
  const auto below = hn::Set(di, options.limit - 1);
  const auto lane = hn::Iota(du, 0);
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto value = hn::LoadU(d, r + i);
    const auto variance = hn::Add(hn::LoadU(d, v + i), hn::LoadU(d, q + i));
    hn::StoreU(hn::Mul(zeta, variance), d, v + i);
    const auto scaled = hn::Mul(alpha, variance);
    const auto ambiguous =
        hn::And(hn::Le(hn::Mul(value, value), scaled), hn::Le(scaled, hn::Set(d, kMax)));
    const auto reaches = hn::RebindMask(d, hn::Gt(hn::BitCast(di, hn::Abs(value)), below));
    const auto mask = hn::And(hn::Not(ambiguous), reaches);
    if (HWY_LIKELY(hn::AllFalse(d, mask))) continue;
    // Stores end at i + lanes at the latest.
    const auto index = hn::Add(lane, hn::Set(du, static_cast<std::uint32_t>(i)));
    hn::StoreU(CompressLanes(index, hn::RebindMask(du, mask)), du, positions + count);
    hn::StoreU(CompressLanes(value, mask), d, values + count);
    hn::StoreU(CompressLanes(variance, mask), d, variances + count);
    count += hn::CountTrue(d, mask);
  }
  for (; i < n; ++i) {
    const float variance = v[i] + q[i];
    v[i] = options.zeta * variance;
    const float scaled = options.alpha * variance;
    const bool ambiguous = r[i] * r[i] <= scaled && scaled <= kMax;
    if (ambiguous || key_of(r[i], KeyOrder::kMagnitude) < options.limit) continue;
    positions[count] = static_cast<std::uint32_t>(i);
    values[count] = r[i];
    variances[count] = variance;
    ++count;
  }
  return count;
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(Choose);
}  // namespace

std::size_t choose_unambiguous(std::span<const float> r, std::span<const float> q,
                               const AmbiguityOptions& options, std::span<float> v,
                               std::uint32_t* positions, float* values, float* variances) {
  assert(r.size() == q.size() && r.size() == v.size());
  std::array<std::size_t, kMaxSumParts> counts{};
  std::array<std::size_t, kMaxSumParts> begins{};
  // Every part writes where its elements begin and never past its own end.
  parallel_sum_parts(r.size(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    begins[part] = begin;
    counts[part] = HWY_DYNAMIC_DISPATCH(Choose)(r.data() + begin, q.data() + begin, end - begin,
                                                options, v.data() + begin, positions + begin,
                                                values + begin, variances + begin);
    for (std::size_t i = begin; i < begin + counts[part]; ++i) {
      positions[i] += static_cast<std::uint32_t>(begin);
    }
  });
  std::size_t count = counts[0];
  for (std::size_t part = 1; part < sum_parts(r.size()); ++part) {
    const auto move = [&](auto* data) {
      std::memmove(data + count, data + begins[part], counts[part] * sizeof *data);
    };
    move(positions);
    move(values);
    move(variances);
    count += counts[part];
  }
  return count;
}

}  // namespace thinpipe
#endif  // HWY_ONCE
