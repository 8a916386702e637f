// Passes over compacted elements, and counts of elements above limits.
//
// The first loop keeps the pairs of position and value whose magnitude is at least a threshold (the
// cut). If output and input are the same array, a store never goes beyond the vector that was just
// read, so it overwrites no unread input. If they differ, no store goes past the end of the output.
// The second loop counts, for several limits at once, the elements above each limit. It reads four
// parts of the tensor in turn, and compares each vector with all limits while the vector is in a
// register. Further loops compute, count and keep keys, and count the bits of bitmaps.
#include "compressors/kernels/select.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cassert>
#include <cstring>

#include "compressors/kernels/parallel.h"
#include "compressors/kernels/streams.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/cut.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
// after it
#include "compressors/kernels/keys-inl.h"
#include "compressors/kernels/vector_loop-inl.h"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_CUT_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_CUT_ONCE
namespace thinpipe {
namespace {
/// Output of one kernel call: at most `room` pairs.
struct FilterOutput {
  std::byte* positions;
  std::byte* values;
  std::size_t room;

  FilterOutput from(std::size_t pair) const {
    return {positions + pair * sizeof(std::uint32_t), values + pair * sizeof(float), room - pair};
  }
};
}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using DI = hn::ScalableTag<std::int32_t>;
using DF = hn::RebindToFloat<DI>;
using DU = hn::RebindToUnsigned<DI>;

template <KeyOrder order>
HWY_INLINE std::size_t FilterOrder(std::int32_t below, const std::uint32_t* positions,
                                   const float* values, std::size_t n, FilterOutput out) {
  const DI d;
  const DF df;
  const DU du;
  const std::size_t lanes = hn::Lanes(d);
  const auto limit = hn::Set(d, below);
  auto* const to_positions = reinterpret_cast<std::uint32_t*>(out.positions);
  auto* const to_values = reinterpret_cast<float*>(out.values);
  std::size_t kept = 0;
  std::size_t i = 0;
  for (; i + lanes <= n && kept + lanes <= out.room; i += lanes) {
    // Stores wait for their cache lines longer than loads do.
    hwy::Prefetch(to_values + kept + kAhead);
    hwy::Prefetch(to_positions + kept + kAhead);
    const auto value = hn::LoadU(df, values + i);
    const auto position = hn::LoadU(du, positions + i);
    const auto mask = hn::Gt(Keys<order>(d, value), limit);
    hn::StoreU(CompressLanes(position, hn::RebindMask(du, mask)), du, to_positions + kept);
    hn::StoreU(CompressLanes(value, hn::RebindMask(df, mask)), df, to_values + kept);
    kept += hn::CountTrue(d, mask);
  }
  for (; i < n && kept < out.room; ++i) {
    const float value = values[i];
    const std::uint32_t position = positions[i];
    std::memcpy(out.positions + kept * sizeof position, &position, sizeof position);
    std::memcpy(out.values + kept * sizeof value, &value, sizeof value);
    kept += key_of(value, order) > below ? 1 : 0;
  }
  return kept;
}

std::size_t Filter(KeyOrder order, std::int32_t below, const std::uint32_t* positions,
                   const float* values, std::size_t n, FilterOutput out) {
  return with_order(order, [&](auto o) {
    return FilterOrder<decltype(o)::value>(below, positions, values, n, out);
  });
}

template <KeyOrder order>
HWY_INLINE std::size_t CountOrder(const float* HWY_RESTRICT x, std::size_t n, std::int32_t below) {
  const DI d;
  const DF df;
  const std::size_t lanes = hn::Lanes(d);
  const auto limit = hn::Set(d, below);
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    count += hn::CountTrue(d, hn::Gt(Keys<order>(d, hn::LoadU(df, x + i)), limit));
  }
  for (; i < n; ++i) count += key_of(x[i], order) > below ? 1 : 0;
  return count;
}

std::size_t Count(const float* x, std::size_t n, KeyOrder order, std::int32_t below) {
  return with_order(order, [&](auto o) { return CountOrder<decltype(o)::value>(x, n, below); });
}

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

// Keys of compacted elements, and bitmaps.

void KeysOf(const float* values, std::size_t n, KeyOrder order, std::int32_t* keys) {
  const DI d;
  const DF df;
  with_order(order, [&](auto o) {
    std::size_t i = 0;
    for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
      hn::StoreU(Keys<decltype(o)::value>(d, hn::LoadU(df, values + i)), d, keys + i);
    }
    for (; i < n; ++i) keys[i] = key_of(values[i], decltype(o)::value);
    return 0;
  });
}

template <KeyOrder order>
HWY_INLINE KeysBetween BetweenOrder(const float* HWY_RESTRICT values, std::size_t n,
                                    std::int32_t low, std::int32_t high,
                                    std::int32_t* HWY_RESTRICT keys) {
  const DI d;
  const DF df;
  const auto below = hn::Set(d, just_below(low));
  const auto most = hn::Set(d, high);
  KeysBetween found;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const auto key = Keys<order>(d, hn::LoadU(df, values + i));
    const auto above = hn::Gt(key, most);
    const auto mask = hn::AndNot(above, hn::Gt(key, below));
    hn::StoreU(CompressLanes(key, mask), d, keys + found.kept);
    found.kept += hn::CountTrue(d, mask);
    found.above += hn::CountTrue(d, above);
  }
  for (; i < n; ++i) {
    const std::int32_t key = key_of(values[i], order);
    keys[found.kept] = key;
    found.kept += key >= low && key <= high ? 1 : 0;
    found.above += key > high ? 1 : 0;
  }
  return found;
}

KeysBetween Between(const float* values, std::size_t n, KeyOrder order, std::int32_t low,
                    std::int32_t high, std::int32_t* keys) {
  return with_order(
      order, [&](auto o) { return BetweenOrder<decltype(o)::value>(values, n, low, high, keys); });
}

std::size_t CountKeys(const std::int32_t* keys, std::size_t n, std::int32_t limit) {
  const DI d;
  const auto below = hn::Set(d, just_below(limit));
  std::size_t count = 0;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    count += hn::CountTrue(d, hn::Gt(hn::LoadU(d, keys + i), below));
  }
  for (; i < n; ++i) count += keys[i] >= limit ? 1 : 0;
  return count;
}

std::size_t KeepKeys(std::int32_t* keys, std::size_t n, std::int32_t low, std::int32_t high) {
  const DI d;
  const auto below = hn::Set(d, just_below(low));
  const auto most = hn::Set(d, high);
  std::size_t kept = 0;
  std::size_t i = 0;
  for (; i + hn::Lanes(d) <= n; i += hn::Lanes(d)) {
    const auto key = hn::LoadU(d, keys + i);
    const auto mask = hn::AndNot(hn::Gt(key, most), hn::Gt(key, below));
    hn::StoreU(CompressLanes(key, mask), d, keys + kept);
    kept += hn::CountTrue(d, mask);
  }
  for (; i < n; ++i) {
    const std::int32_t key = keys[i];
    keys[kept] = key;
    kept += key >= low && key <= high ? 1 : 0;
  }
  return kept;
}

/// Counts bits in vectors of words; portable code for one word takes a dozen instructions.
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
HWY_EXPORT(Filter);
HWY_EXPORT(Count);
HWY_EXPORT(CountAbove);
HWY_EXPORT(KeysOf);
HWY_EXPORT(Between);
HWY_EXPORT(CountKeys);
HWY_EXPORT(KeepKeys);
HWY_EXPORT(CountBits);

/// Elements counted at a time: 32-bit counters do not overflow even when a vector has one lane.
constexpr std::size_t kChunk = std::size_t{1} << 30;

/// Calls body(begin, end, below) for the ranges of [begin, end) in which a cut has one limit.
template <class Body>
void for_each_limit(const Cut& cut, std::size_t begin, std::size_t end, Body body) {
  const std::size_t first = std::clamp(cut.begin, begin, end);
  const std::size_t second = std::clamp(cut.end, first, end);
  body(begin, first, cut.below);
  body(first, second, cut.below_within);
  body(second, end, cut.below);
}

std::size_t count_part(const Cut& cut, const float* values, std::size_t begin, std::size_t end) {
  std::size_t count = 0;
  for_each_limit(cut, begin, end, [&](std::size_t from, std::size_t to, std::int32_t below) {
    count += HWY_DYNAMIC_DISPATCH(Count)(values + from, to - from, cut.order, below);
  });
  return count;
}

std::size_t filter_part(const Cut& cut, const std::uint32_t* positions, const float* values,
                        std::size_t begin, std::size_t end, FilterOutput out) {
  std::size_t kept = 0;
  for_each_limit(cut, begin, end, [&](std::size_t from, std::size_t to, std::int32_t below) {
    kept += HWY_DYNAMIC_DISPATCH(Filter)(cut.order, below, positions + from, values + from,
                                         to - from, out.from(kept));
  });
  return kept;
}

/// Returns the index of the nth value whose key lies in [low, most].
std::size_t place_between(KeyOrder order, std::int32_t low, std::int32_t most, std::size_t nth,
                          std::span<const float> values) {
  constexpr std::size_t kBlock = 4096;
  const auto between = [&](std::size_t begin, std::size_t end) {
    const auto count = [&](std::int32_t below) {
      return HWY_DYNAMIC_DISPATCH(Count)(values.data() + begin, end - begin, order, below);
    };
    return count(just_below(low)) - count(most);
  };
  std::array<std::size_t, kMaxSumParts> counts;
  parallel_sum_parts(values.size(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    counts[part] = between(begin, end);
  });
  const std::size_t parts = sum_parts(values.size());
  std::size_t part = 0;
  for (; part + 1 < parts && nth >= counts[part]; ++part) nth -= counts[part];
  std::size_t at = values.size() * part / parts;
  for (; at < values.size(); at += kBlock) {
    const std::size_t found = between(at, std::min(at + kBlock, values.size()));
    if (nth < found) break;
    nth -= found;
  }
  for (; at < values.size(); ++at) {
    const std::int32_t key = key_of(values[at], order);
    if (key < low || key > most) continue;
    if (nth == 0) break;
    --nth;
  }
  return at;
}
}  // namespace

Cut cut_between(KeyOrder order, std::int32_t low, std::int32_t most, std::size_t start,
                std::size_t take, std::span<const float> values) {
  Cut cut{.order = order, .below = most, .below_within = just_below(low)};
  if (take == 0) return cut;
  if (start > 0) cut.begin = place_between(order, low, most, start, values);
  cut.end = place_between(order, low, most, start + take - 1, values) + 1;
  return cut;
}

std::size_t count_kept(const Cut& cut, std::span<const float> values) {
  std::array<std::size_t, kMaxSumParts> counts;
  parallel_sum_parts(values.size(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    counts[part] = count_part(cut, values.data(), begin, end);
  });
  std::size_t count = 0;
  for (std::size_t part = 0; part < sum_parts(values.size()); ++part) count += counts[part];
  return count;
}

std::size_t count_at_least(std::span<const float> x, KeyOrder order, std::int32_t limit) {
  return count_kept(cut_at(order, limit), x);
}

std::size_t filter(const Cut& cut, std::size_t count, std::uint32_t* positions, float* values) {
  Stretches stretches(count);
  stretches.run([&](std::size_t begin, std::size_t n) {
    return filter_part(cut, positions, values, begin, begin + n,
                       {reinterpret_cast<std::byte*>(positions + begin),
                        reinterpret_cast<std::byte*>(values + begin), n});
  });
  stretches.join(positions);
  return stretches.join(values);
}

void filter_into(const Cut& cut, std::span<const std::uint32_t> positions,
                 std::span<const float> values, std::size_t kept, std::byte* out_positions,
                 std::byte* out_values) {
  const std::size_t n = values.size();
  const FilterOutput out{out_positions, out_values, kept};
  const std::size_t parts = static_cast<std::size_t>(threads_for(n));
  if (parts == 1) {
    filter_part(cut, positions.data(), values.data(), 0, n, out);
    return;
  }
  // Each part writes its kept pairs where those of the parts before it end.
  std::array<std::size_t, kMaxSumParts + 1> ends{};
  parallel_sum_parts(n, [&](std::size_t part, std::size_t begin, std::size_t end) {
    ends[part + 1] = count_part(cut, values.data(), begin, end);
  });
  for (std::size_t part = 0; part < sum_parts(n); ++part) ends[part + 1] += ends[part];
  parallel_sum_parts(n, [&](std::size_t part, std::size_t begin, std::size_t end) {
    FilterOutput own = out.from(ends[part]);
    own.room = ends[part + 1] - ends[part];
    filter_part(cut, positions.data(), values.data(), begin, end, own);
  });
}

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

void keys_of(std::span<const float> values, KeyOrder order, std::int32_t* keys) {
  HWY_DYNAMIC_DISPATCH(KeysOf)(values.data(), values.size(), order, keys);
}

KeysBetween keys_between(std::span<const float> values, KeyOrder order, std::int32_t low,
                         std::int32_t high, std::int32_t* keys) {
  Stretches stretches(values.size());
  std::atomic<std::size_t> above = 0;
  stretches.run([&](std::size_t begin, std::size_t n) {
    const KeysBetween found =
        HWY_DYNAMIC_DISPATCH(Between)(values.data() + begin, n, order, low, high, keys + begin);
    above += found.above;
    return found.kept;
  });
  return {.kept = stretches.join(keys), .above = above};
}

std::size_t count_keys(std::span<const std::int32_t> keys, std::int32_t limit) {
  return HWY_DYNAMIC_DISPATCH(CountKeys)(keys.data(), keys.size(), limit);
}

std::size_t keep_keys(std::span<std::int32_t> keys, std::int32_t low, std::int32_t high) {
  return HWY_DYNAMIC_DISPATCH(KeepKeys)(keys.data(), keys.size(), low, high);
}

std::size_t count_bits(std::span<const std::uint64_t> words) {
  return HWY_DYNAMIC_DISPATCH(CountBits)(words.data(), words.size());
}

}  // namespace thinpipe
#endif  // HWY_ONCE
