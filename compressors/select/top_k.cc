// Exact top-k: sample, compact once, refine. Sampled brackets around the k-th key find it.
#include "compressors/select/top_k.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <functional>

#include "base/splitmix64.h"
#include "compressors/kernels/parallel.h"
#include "compressors/kernels/select.h"

namespace thinpipe {
namespace {

/// Greatest number of keys for which the library's selection is faster than another round.
constexpr std::size_t kFew = 4096;
constexpr std::size_t kSample = 1024;
/// Standard deviations from the estimated k-th key to either end of its bracket. With 4, one sample
/// in 16 000 leaves the k-th key outside the bracket. This costs time, but does not change the
/// result.
constexpr double kDeviations = 4;

// Sampling. Reads of random elements miss all caches, so the next elements are prefetched while
// earlier ones still arrive. Sampling a whole cache line costs one miss for 16 elements.

constexpr std::size_t kLine = 16;
/// Concurrent misses; memory systems serve some ten to twenty for a core.
constexpr std::size_t kDrawnAhead = 64;

/// Fills `keys` with the keys of runs of `length` consecutive elements of x, on several threads.
/// Run i begins at element position(i). The last run is shorter if `keys` ends within it.
template <std::size_t length, class Position>
void gather(const Signal& x, KeyOrder order, Position position, std::span<std::int32_t> keys) {
  // A cache miss takes as long as reading hundreds of elements in sequence. So several threads help
  // even if there are few keys.
  const int threads = threads_for(x.size());
  const auto parts = static_cast<std::size_t>(threads);
  const std::size_t runs = (keys.size() + length - 1) / length;
  parallel_parts(parts, threads, [&](std::size_t part) {
    const std::size_t begin = runs * part / parts;
    const std::size_t end = runs * (part + 1) / parts;
    std::array<std::size_t, kDrawnAhead> positions;
    const auto ask = [&](std::size_t i) {
      positions[i % kDrawnAhead] = position(i);
      x.prefetch(positions[i % kDrawnAhead]);
    };
    for (std::size_t i = begin; i < std::min(end, begin + kDrawnAhead); ++i) ask(i);
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t at = positions[i % kDrawnAhead];
      const std::size_t some = std::min(length, keys.size() - i * length);
      for (std::size_t j = 0; j < some; ++j) keys[i * length + j] = key_of(x.at(at + j), order);
      if (i + kDrawnAhead < end) ask(i + kDrawnAhead);
    }
  });
}

/// Fills `keys` (at least one, at most x.size()) with the keys of sampled elements of x.
void sample_keys(const Signal& x, KeyOrder order, Sampling sampling, std::uint64_t seed,
                 std::uint64_t step, std::span<std::int32_t> keys) {
  const std::size_t n = keys.size();
  const SplitMix64 first(SplitMix64::mix(seed ^ SplitMix64::mix(step)));
  // Returns the i-th of the random numbers below `limit`.
  const auto drawn = [&](std::size_t i, std::size_t limit) {
    SplitMix64 random = first;
    random.skip(i);
    return random.below(limit);
  };
  if (sampling == Sampling::kLines && x.size() >= kLine) {
    return gather<kLine>(
        x, order, [&](std::size_t i) { return kLine * drawn(i, x.size() / kLine); }, keys);
  }
  if (sampling == Sampling::kStrided) {
    return gather<1>(
        x, order, [&](std::size_t i) { return (2 * i + 1) * x.size() / (2 * n); }, keys);
  }
  gather<1>(
      x, order, [&](std::size_t i) { return drawn(i, x.size()); }, keys);
}

/// Below this size a sample costs more than it saves, and all keys are read.
constexpr std::size_t kMinSampled = 8192;
/// One in 64 elements is sampled, but at most 16384 elements. With 26 million elements and a ratio
/// of 0.001, 16 sampled elements are expected to exceed the k-th key. With a margin of 4 standard
/// deviations, 2 k of all elements then reach the limit.
constexpr std::size_t kSampleShare = 64;
constexpr std::size_t kMaxSample = 16384;
/// Sample size among the compacted elements, which are in the caches.
constexpr std::size_t kRefineSample = 2048;

}  // namespace

KeyBracket bracket_of_sample(std::span<std::int32_t> sample, std::size_t k, std::size_t n) {
  const double share = static_cast<double>(k) / static_cast<double>(n);
  const double expected = static_cast<double>(sample.size()) * share;
  const double margin = kDeviations * std::sqrt(expected * (1 - share)) + 1;
  const auto low = static_cast<std::size_t>(expected + margin);
  KeyBracket bracket{.low = kMinKey, .certain = kMaxKey};
  auto* const begin = sample.data();
  auto* end = begin + sample.size();
  if (low < sample.size()) {
    std::nth_element(begin, begin + low, end, std::greater<>());
    bracket.low = begin[low];
    end = begin + low;
  }
  if (expected > margin) {
    const auto high = static_cast<std::size_t>(expected - margin);
    std::nth_element(begin, begin + high, end, std::greater<>());
    bracket.certain = begin[high];
  }
  return bracket;
}

std::int32_t kth_greatest(std::span<std::int32_t> keys, std::size_t k) {
  assert(k >= 1 && k <= keys.size());
  SplitMix64 random(keys.size());
  std::array<std::int32_t, kSample> sample;
  while (keys.size() > kFew) {
    for (std::int32_t& key : sample) key = keys[random.below(keys.size())];
    const KeyBracket bracket = bracket_of_sample(sample, k, keys.size());
    std::int32_t most = kMaxKey;
    std::size_t above = 0;
    if (bracket.certain != kMaxKey) {
      most = bracket.certain - 1;
      above = count_keys(keys, bracket.certain);
      // With many ties the k-th may be the bracket's end itself.
      if (above >= k && count_keys(keys, bracket.certain + 1) < k) return bracket.certain;
    }
    if (above >= k || count_keys(keys, bracket.low) < k) break;  // the k-th is outside
    const std::size_t before = keys.size();
    keys = keys.first(keep_keys(keys, bracket.low, most));
    k -= above;
    if (keys.size() > before / 2) break;  // no sample separates these
  }
  std::nth_element(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(k - 1), keys.end(),
                   std::greater<>());
  return keys[k - 1];
}

std::int32_t sampled_key(const Signal& x, KeyOrder order, Sampling sampling, std::uint64_t seed,
                         std::uint64_t step, double share, std::span<std::int32_t> sample) {
  sample_keys(x, order, sampling, seed, step, sample);
  return kth_greatest(sample, std::min(sample.size(), target_count(share, x.size())));
}

// A vector may be stored past the last key kept.
TopK::TopK(std::size_t elements) : keys_(std::max(elements, kMaxSample) + kCompactSlack) {}

std::int32_t TopK::low_by_sample(const Signal& x, KeyOrder order, std::size_t k) {
  if (x.size() < kMinSampled) return kMinKey;
  const auto sample = keys_.first(std::min(x.size() / kSampleShare, kMaxSample));
  sample_keys(x, order, Sampling::kUniform, x.size(), 0, sample);
  return bracket_of_sample(sample, k, x.size()).low;
}

std::int32_t TopK::low_by_histogram(std::span<const float> x, KeyOrder order, std::size_t k) {
  // 11 high bits of a key as an unsigned number: 2048 counters stay in the first-level cache.
  constexpr int kShift = 21;
  std::array<std::size_t, 2048> counts{};
  for (float value : x) {
    ++counts[(static_cast<std::uint32_t>(key_of(value, order)) ^ 0x80000000U) >> kShift];
  }
  std::size_t reached = 0;
  for (std::size_t bucket = counts.size(); bucket-- > 0;) {
    reached += counts[bucket];
    if (reached >= k) {
      return static_cast<std::int32_t>((static_cast<std::uint32_t>(bucket) << kShift) ^
                                       0x80000000U);
    }
  }
  return kMinKey;
}

std::int32_t TopK::select(std::span<const float> x, KeyOrder order, std::size_t k,
                          Selection& selection) {
  assert(k <= x.size());
  selection.count = 0;
  selection.passes = 0;
  if (k == 0) return kMaxKey;
  std::int32_t low = low_by_sample(x, order, k);
  const auto compact_all = [&] {
    selection.count = compact(x, order, low, selection.positions.data(), selection.values.data());
    ++selection.passes;
  };
  compact_all();
  if (selection.count < k) {
    low = low_by_histogram(x, order, k);
    ++selection.passes;
    compact_all();
  }
  return refine(order, k, selection);
}

std::int32_t TopK::select(Signal& signal, std::size_t k, Selection& selection) {
  assert(k <= signal.size());
  selection.count = 0;
  selection.passes = 0;
  if (k == 0) return kMaxKey;
  constexpr KeyOrder kOrder = KeyOrder::kMagnitude;
  const std::int32_t low = low_by_sample(signal, kOrder, k);
  selection.count = signal.compact(low, selection.positions.data(), selection.values.data());
  selection.passes = 1;
  if (selection.count >= k) return refine(kOrder, k, selection);
  const std::int32_t key = select(signal.values(), kOrder, k, selection);
  ++selection.passes;
  return key;
}

TopK::Rank TopK::rank_of(std::span<const float> values, KeyOrder order, std::size_t k) {
  if (values.size() > kMinSampled) {
    // A sample separates most values from the k-th; their keys are not even written.
    std::array<std::int32_t, kRefineSample> sample;
    SplitMix64 random(values.size());
    for (std::int32_t& key : sample) key = key_of(values[random.below(values.size())], order);
    const KeyBracket bracket = bracket_of_sample(sample, k, values.size());
    const std::int32_t most = bracket.certain == kMaxKey ? kMaxKey : bracket.certain - 1;
    if (bracket.low <= most) {
      const KeysBetween found = keys_between(values, order, bracket.low, most, keys_.data());
      const bool inside = found.above < k && k <= found.above + found.kept;
      if (inside && 2 * found.kept <= keys_.size()) {
        // The search reorders and overwrites its input.
        const auto keys = keys_.first(found.kept);
        const std::span copy(keys_.data() + found.kept, found.kept);
        std::copy(keys.begin(), keys.end(), copy.begin());
        const std::int32_t kth = kth_greatest(copy, k - found.above);
        return {.kth = kth, .reached = found.above + count_keys(keys, kth)};
      }
    }
  }
  keys_of(values, order, keys_.data());
  const std::int32_t kth = kth_greatest(keys_.first(values.size()), k);
  return {.kth = kth, .reached = count_at_least(values, order, kth)};
}

std::int32_t TopK::refine(KeyOrder order, std::size_t k, Selection& selection) {
  assert(k > 0 && k <= selection.count);
  const auto values = selection.values.first(selection.count);
  const Rank rank = rank_of(values, order, k);
  if (rank.reached == k) {
    selection.choose(cut_at(order, rank.kth), k);
    return rank.kth;
  }
  // Too many tie with the k-th. All greater elements and the first ties stay.
  const std::size_t above =
      count_kept({.order = order, .below = rank.kth, .below_within = rank.kth}, values);
  selection.choose(cut_between(order, rank.kth, rank.kth, 0, k - above, values), k);
  return rank.kth;
}

}  // namespace thinpipe
