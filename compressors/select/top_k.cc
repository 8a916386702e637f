// Exact top-k: sample, compact once, refine.
#include "compressors/select/top_k.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "compressors/kernels/compact.h"
#include "compressors/kernels/filter.h"
#include "compressors/random.h"
#include "compressors/select/kth.h"

namespace thinpipe {
namespace {

/// Below this a sample is not worth its cost: all keys are looked at.
constexpr std::size_t kMinSampled = 8192;
/// One in 64 elements, at most 16384: at 26 million elements and a ratio of 0.001, 16 sampled
/// elements are expected above the k-th, and 4 standard deviations let 2 k of all elements through.
constexpr std::size_t kSampleShare = 64;
constexpr std::size_t kMaxSample = 16384;
/// Of the elements compacted, which lie in the caches.
constexpr std::size_t kRefineSample = 2048;

class TopKSelector : public Selector {
 public:
  TopKSelector(std::size_t elements, RatioSchedule ratio)
      : ratio_(std::move(ratio)), elements_(elements), top_k_(elements) {}

  std::size_t max_selected() const override { return target_count(ratio_.greatest(), elements_); }
  void select(std::span<const float> c, const SelectContext& context,
              Selection& selection) override {
    Signal signal(c);
    select_signal(signal, context, selection);
  }
  void select_signal(Signal& signal, const SelectContext& context, Selection& selection) override {
    selection.target = target_count(ratio_.at(context.epoch), signal.size());
    const std::int32_t key = top_k_.select(signal, selection.target, selection);
    selection.threshold = signal.size() == 0 ? 0.0 : static_cast<double>(magnitude_of(key));
  }

 private:
  RatioSchedule ratio_;
  std::size_t elements_;
  TopK top_k_;
};

}  // namespace

// A vector may be stored past the last key kept.
TopK::TopK(std::size_t elements) : keys_(std::max(elements, kMaxSample) + kCompactSlack) {}

template <class KeyAt>
std::int32_t TopK::low_by_sample(std::size_t n, std::size_t k, KeyAt key_at) {
  if (n < kMinSampled) return kMinKey;
  const std::size_t sampled = std::min(n / kSampleShare, kMaxSample);
  SplitMix64 random(n);
  for (std::size_t i = 0; i < sampled; ++i) keys_[i] = key_at(random.below(n));
  return bracket_of_sample(keys_.first(sampled), k, n).low;
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
  std::int32_t low = low_by_sample(x.size(), k, [&](std::size_t i) { return key_of(x[i], order); });
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
  const std::int32_t low =
      low_by_sample(signal.size(), k, [&](std::size_t i) { return key_of(signal.at(i), kOrder); });
  selection.count = signal.compact(low, selection.positions.data(), selection.values.data());
  selection.passes = 1;
  if (selection.count >= k) return refine(kOrder, k, selection);
  const std::int32_t key = select(signal.values(), kOrder, k, selection);
  ++selection.passes;
  return key;
}

std::int32_t TopK::kth_of(std::span<const float> values, KeyOrder order, std::size_t k) {
  if (values.size() > kMinSampled) {
    // A sample tells most of the values from the k-th; their keys are not even written.
    std::array<std::int32_t, kRefineSample> sample;
    SplitMix64 random(values.size());
    for (std::int32_t& key : sample) key = key_of(values[random.below(values.size())], order);
    const KeyBracket bracket = bracket_of_sample(sample, k, values.size());
    const std::int32_t most = bracket.certain == kMaxKey ? kMaxKey : bracket.certain - 1;
    if (bracket.low <= most) {
      const KeysBetween found = keys_between(values, order, bracket.low, most, keys_.data());
      if (found.above < k && k <= found.above + found.kept) {
        return kth_greatest(keys_.first(found.kept), k - found.above);
      }
    }
  }
  keys_of(values, order, keys_.data());
  return kth_greatest(keys_.first(values.size()), k);
}

std::int32_t TopK::refine(KeyOrder order, std::size_t k, Selection& selection) {
  assert(k > 0 && k <= selection.count);
  std::uint32_t* const positions = selection.positions.data();
  float* const values = selection.values.data();
  const std::size_t count = selection.count;
  const std::int32_t kth = kth_of({values, count}, order, k);
  const std::size_t reached = filter(order, kth, count, positions, values);
  selection.count = k;
  if (reached == k) return kth;
  // The last of those that tie with the k-th are too many: all others, and the first ties, stay.
  std::size_t ties = 0;
  for (std::size_t i = 0; i < reached; ++i) ties += key_of(values[i], order) == kth ? 1 : 0;
  ties -= reached - k;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < reached; ++i) {
    const bool tie = key_of(values[i], order) == kth;
    positions[kept] = positions[i];
    values[kept] = values[i];
    kept += !tie || ties > 0 ? 1 : 0;
    ties -= tie && ties > 0 ? 1 : 0;
  }
  assert(kept == k);
  return kth;
}

std::unique_ptr<Selector> make_top_k_selector(std::size_t elements, const RatioSchedule& ratio) {
  return std::make_unique<TopKSelector>(elements, ratio);
}

}  // namespace thinpipe
