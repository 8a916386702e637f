// Compaction: copies the elements that reach a limit next to each other. The kernel reads one
// stream and prefetches it one page ahead, which uses as much memory bandwidth as several streams.
// On one thread, every kept element is written at its final position. If few elements are kept, the
// kernel walks through the set bits of comparison masks. If many are kept, it compresses vectors
// without a branch, because a branch would often be mispredicted. Also chooses elements by the
// criterion of variance-based compression, and compacts them.
#include "compressors/kernels/select.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <functional>
#include <limits>

#include "compressors/kernels/parallel.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "compressors/kernels/compact.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
// after it
#include "compressors/kernels/keys-inl.h"
#include "compressors/kernels/source-inl.h"
#include "compressors/kernels/vector_loop-inl.h"
#include "hwy/highway.h"

#ifndef THINPIPE_COMPRESSORS_KERNELS_COMPACT_ONCE
#define THINPIPE_COMPRESSORS_KERNELS_COMPACT_ONCE
namespace thinpipe {
namespace {
/// Elements compared before one branch tests whether any of them is kept.
constexpr std::size_t kGroup = 256;
/// Elements between two choices of the way to write kept elements.
constexpr std::size_t kChoice = 32 * kGroup;
/// The kernel compresses vectors where at least one in kDense elements is kept; elsewhere it walks
/// through the set bits. Compressing costs the same for any number of kept elements, whereas
/// walking costs much per kept element. At one in kDense, both cost the same.
constexpr std::size_t kDense = 12;
/// A thread writes at most one of the widest vectors past its own elements.
constexpr std::size_t kPartSlack = 64;
static_assert(kMaxCompactThreads * kPartSlack <= kCompactSlack);

/// Output of one kernel call.
struct CompactOutput {
  std::uint32_t* positions;
  float* values;
};
}  // namespace
}  // namespace thinpipe
#endif

HWY_BEFORE_NAMESPACE();
namespace thinpipe {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using DI = hn::CappedTag<std::int32_t, 16>;
using DF = hn::RebindToFloat<DI>;
using DU = hn::RebindToUnsigned<DI>;

/// Returns the mask of the 64 elements that reach the limit, as bits.
template <KeyOrder order, class Source>
HWY_INLINE std::uint64_t Bits64(const Source& source, std::size_t at, hn::Vec<DI> below) {
  const DI d;
  const DF df;
  const std::size_t lanes = hn::Lanes(d);
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < 64; i += lanes) {
    std::uint64_t bits = 0;
    const auto mask = hn::Gt(Keys<order>(d, Load(df, source, at + i)), below);
    hn::StoreMaskBits(d, mask, reinterpret_cast<std::uint8_t*>(&bits));
    word |= bits << i;
  }
  return word;
}

/// Appends the elements from `at` on whose bits are set. @returns the new count.
template <class Source>
HWY_INLINE std::size_t AppendBits(const Source& source, std::size_t at, std::uint64_t word,
                                  CompactOutput out, std::size_t count) {
  for (; word != 0; word &= word - 1) {
    const std::size_t i = at + static_cast<std::size_t>(std::countr_zero(word));
    out.positions[count] = static_cast<std::uint32_t>(i);
    out.values[count] = source.again(i);
    ++count;
  }
  return count;
}

/// Appends the kept ones of 64 elements, without a branch. @returns the new count.
template <KeyOrder order, class Source>
HWY_INLINE std::size_t Append64(const Source& source, std::size_t at, hn::Vec<DI> below,
                                CompactOutput out, std::size_t count) {
  const DI d;
  const DF df;
  const DU du;
  const std::size_t lanes = hn::Lanes(d);
  // Iota of a variable would go through memory, lane by lane (Highway 1.0.3).
  const auto lane = hn::Iota(du, 0);
  for (std::size_t i = 0; i < 64; i += lanes) {
    const auto x = Load(df, source, at + i);
    const auto mask = hn::Gt(Keys<order>(d, x), below);
    const auto index = hn::Add(lane, hn::Set(du, static_cast<std::uint32_t>(at + i)));
    hn::StoreU(CompressLanes(index, hn::RebindMask(du, mask)), du, out.positions + count);
    hn::StoreU(CompressLanes(x, hn::RebindMask(df, mask)), df, out.values + count);
    count += hn::CountTrue(d, mask);
  }
  return count;
}

/// Appends the kept ones of kGroup elements. @returns the new count.
template <KeyOrder order, class Source>
HWY_INLINE std::size_t AppendGroup(const Source& source, std::size_t at, hn::Vec<DI> below,
                                   bool compress, CompactOutput out, std::size_t count) {
  for (std::size_t i = 0; i < kGroup; i += kLineFloats) source.prefetch(at + kAhead + i);
  if (compress) {
    const std::size_t line = count / kLineFloats;
    for (std::size_t i = 0; i < kGroup; i += 64) {
      count = Append64<order>(source, at + i, below, out, count);
    }
    // Stores wait for their cache lines too.
    for (std::size_t i = line * kLineFloats; i + kLineFloats <= count; i += kLineFloats) {
      hwy::Prefetch(out.positions + i + kAhead);
      hwy::Prefetch(out.values + i + kAhead);
    }
    return count;
  }
  std::array<std::uint64_t, kGroup / 64> words;
  std::uint64_t any = 0;
  for (std::size_t i = 0; i < words.size(); ++i) {
    words[i] = Bits64<order>(source, at + 64 * i, below);
    any |= words[i];
  }
  if (HWY_LIKELY(any == 0)) return count;
  for (std::size_t i = 0; i < words.size(); ++i) {
    count = AppendBits(source, at + 64 * i, words[i], out, count);
  }
  return count;
}

/// Compacts [begin, end) into `out`, which has space for end - begin and kPartSlack elements.
template <KeyOrder order, class Source>
HWY_INLINE std::size_t CompactRange(const Source& source, std::size_t begin, std::size_t end,
                                    std::int32_t limit, CompactOutput out) {
  const DI d;
  const auto below = hn::Set(d, just_below(limit));
  std::size_t count = 0;
  bool compress = false;
  while (begin + kGroup <= end) {
    const std::size_t before = count;
    const std::size_t some = std::min(kChoice, (end - begin) / kGroup * kGroup);
    for (const std::size_t stop = begin + some; begin < stop; begin += kGroup) {
      count = AppendGroup<order>(source, begin, below, compress, out, count);
    }
    compress = (count - before) * kDense >= some;
  }
  for (; begin + 64 <= end; begin += 64) {
    count = AppendBits(source, begin, Bits64<order>(source, begin, below), out, count);
  }
  const hn::CappedTag<float, 1> one;
  for (; begin < end; ++begin) {
    const float x = hn::GetLane(Load(one, source, begin));
    out.positions[count] = static_cast<std::uint32_t>(begin);
    out.values[count] = x;
    count += key_of(x, order) >= limit ? 1 : 0;
  }
  return count;
}

std::size_t Compact(const float* x, std::size_t begin, std::size_t end, KeyOrder order,
                    std::int32_t limit, CompactOutput out) {
  return with_order(order, [&](auto o) {
    return CompactRange<decltype(o)::value>(ArraySource{x}, begin, end, limit, out);
  });
}

std::size_t CompactSum(const PendingSum& sum, std::size_t begin, std::size_t end,
                       std::int32_t limit, CompactOutput out) {
  return with_source(sum, [&](const auto& source) {
    return CompactRange<KeyOrder::kMagnitude>(source, begin, end, limit, out);
  });
}

/// Reads elements [begin, end) of r, q and v, writes v back, and compacts the chosen elements.
template <class Source>
HWY_INLINE std::size_t ChooseRange(const Source& r, const float* HWY_RESTRICT q, std::size_t begin,
                                   std::size_t end, const AmbiguityOptions& options,
                                   float* HWY_RESTRICT v, std::uint32_t* HWY_RESTRICT positions,
                                   float* HWY_RESTRICT values, float* HWY_RESTRICT variances) {
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
  std::size_t i = begin;
  for (; i + lanes <= end; i += lanes) {
    r.far_ahead(i);
    ask_far_ahead(q + i);
    ask_far_ahead(v + i);
    const auto value = r.compute(d, i);
    const auto variance = hn::Add(hn::LoadU(d, v + i), hn::LoadU(d, q + i));
    r.keep(d, value, i);
    hn::StoreU(hn::Mul(zeta, variance), d, v + i);
    const auto scaled = hn::Mul(alpha, variance);
    const auto ambiguous =
        hn::And(hn::Le(hn::Mul(value, value), scaled), hn::Le(scaled, hn::Set(d, kMax)));
    const auto reaches = hn::RebindMask(d, hn::Gt(hn::BitCast(di, hn::Abs(value)), below));
    const auto mask = hn::And(hn::Not(ambiguous), reaches);
    if (HWY_LIKELY(hn::AllFalse(d, mask))) continue;
    // Stores end at i + lanes - begin at the latest.
    const auto index = hn::Add(lane, hn::Set(du, static_cast<std::uint32_t>(i)));
    hn::StoreU(CompressLanes(index, hn::RebindMask(du, mask)), du, positions + count);
    hn::StoreU(CompressLanes(value, mask), d, values + count);
    hn::StoreU(CompressLanes(variance, mask), d, variances + count);
    count += hn::CountTrue(d, mask);
  }
  const hn::CappedTag<float, 1> one;
  for (; i < end; ++i) {
    const float value = hn::GetLane(Load(one, r, i));
    const float variance = v[i] + q[i];
    v[i] = options.zeta * variance;
    const float scaled = options.alpha * variance;
    const bool ambiguous = value * value <= scaled && scaled <= kMax;
    if (ambiguous || key_of(value, KeyOrder::kMagnitude) < options.limit) continue;
    positions[count] = static_cast<std::uint32_t>(i);
    values[count] = value;
    variances[count] = variance;
    ++count;
  }
  return count;
}

std::size_t Choose(const float* r, const PendingSum* sum, const float* q, std::size_t begin,
                   std::size_t end, const AmbiguityOptions& options, float* v,
                   std::uint32_t* positions, float* values, float* variances) {
  const auto choose = [&](const auto& source) HWY_ATTR {
    return ChooseRange(source, q, begin, end, options, v, positions, values, variances);
  };
  return sum == nullptr ? choose(ArraySource{r}) : with_source(*sum, choose);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace thinpipe
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace thinpipe {
namespace {
HWY_EXPORT(Compact);
HWY_EXPORT(CompactSum);
HWY_EXPORT(Choose);

/// Compacts [0, n) on the current threads. Each thread compacts one range of elements by
/// range(begin, end, output) into the outputs, from about the range's own beginning on. Then the
/// results of all ranges are moved next to each other.
template <class Range>
std::size_t compact_parts(std::size_t n, CompactOutput out, Range range) {
  const int threads = std::min(threads_for(n), kMaxCompactThreads);
  if (threads == 1) return range(0, n, out);
  const auto parts = static_cast<std::size_t>(threads);
  std::array<std::size_t, kMaxCompactThreads> counts{};
  const auto begin_of = [&](std::size_t part) { return n * part / parts; };
  const auto output_of = [&](std::size_t part) {
    const std::size_t shift = begin_of(part) + part * kPartSlack;
    return CompactOutput{out.positions + shift, out.values + shift};
  };
  parallel_parts(parts, threads, [&](std::size_t part) {
    counts[part] = range(begin_of(part), begin_of(part + 1), output_of(part));
  });
  std::size_t count = counts[0];
  for (std::size_t part = 1; part < parts; ++part) {
    const CompactOutput from = output_of(part);
    copy_bytes(out.positions + count, from.positions, counts[part] * sizeof(std::uint32_t));
    copy_bytes(out.values + count, from.values, counts[part] * sizeof(float));
    count += counts[part];
  }
  return count;
}
}  // namespace

std::size_t compact(std::span<const float> x, KeyOrder order, std::int32_t limit,
                    std::uint32_t* positions, float* values) {
  return compact_parts(
      x.size(), {positions, values}, [&](std::size_t begin, std::size_t end, CompactOutput out) {
        return HWY_DYNAMIC_DISPATCH(Compact)(x.data(), begin, end, order, limit, out);
      });
}

std::size_t compact_sum(const PendingSum& sum, std::int32_t limit, std::uint32_t* positions,
                        float* values) {
  return compact_parts(sum.n, {positions, values},
                       [&](std::size_t begin, std::size_t end, CompactOutput out) {
                         return HWY_DYNAMIC_DISPATCH(CompactSum)(sum, begin, end, limit, out);
                       });
}

std::size_t compact_with_tail(std::span<const float> x, std::int32_t limit,
                              std::uint32_t* positions, float* values, std::int32_t tail_limit,
                              TailMoments& tail) {
  std::size_t count = 0;
  const auto read = [&](std::size_t begin, std::size_t end) {
    count += HWY_DYNAMIC_DISPATCH(Compact)(x.data(), begin, end, KeyOrder::kMagnitude, limit,
                                           {positions + count, values + count});
  };
  tail = tail_moments(x, tail_limit, std::ref(read));  // a copy would be allocated
  return count;
}

std::size_t choose_unambiguous(std::span<const float> r, std::span<const float> q,
                               const AmbiguityOptions& options, std::span<float> v,
                               std::uint32_t* positions, float* values, float* variances,
                               const PendingSum* sum) {
  assert(r.size() == q.size() && r.size() == v.size());
  std::array<std::size_t, kMaxSumParts> counts{};
  std::array<std::size_t, kMaxSumParts> begins{};
  // Every part writes where its elements begin and never past its own end.
  parallel_sum_parts(r.size(), [&](std::size_t part, std::size_t begin, std::size_t end) {
    begins[part] = begin;
    counts[part] =
        HWY_DYNAMIC_DISPATCH(Choose)(r.data(), sum, q.data(), begin, end, options, v.data(),
                                     positions + begin, values + begin, variances + begin);
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
