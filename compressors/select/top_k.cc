// Exact top-k: sample, compact once, refine.
#include "compressors/select/top_k.h"

#include <algorithm>
#include <array>
#include <cassert>

#include "compressors/kernels/compact.h"
#include "compressors/kernels/cut.h"
#include "compressors/kernels/filter.h"
#include "compressors/random.h"
#include "compressors/select/kth.h"
#include "compressors/select/sample.h"

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
  void select(Signal& signal, const SelectContext& context, Selection& selection) override {
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
    // A sample tells most of the values from the k-th; their keys are not even written.
    std::array<std::int32_t, kRefineSample> sample;
    SplitMix64 random(values.size());
    for (std::int32_t& key : sample) key = key_of(values[random.below(values.size())], order);
    const KeyBracket bracket = bracket_of_sample(sample, k, values.size());
    const std::int32_t most = bracket.certain == kMaxKey ? kMaxKey : bracket.certain - 1;
    if (bracket.low <= most) {
      const KeysBetween found = keys_between(values, order, bracket.low, most, keys_.data());
      const bool inside = found.above < k && k <= found.above + found.kept;
      if (inside && 2 * found.kept <= keys_.size()) {
        // The search reorders and overwrites what it is given.
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
  // The last of those that tie with the k-th are too many: all others, and the first ties, stay.
  const std::size_t above =
      count_kept({.order = order, .below = rank.kth, .below_within = rank.kth}, values);
  selection.choose(cut_between(order, rank.kth, rank.kth, 0, k - above, values), k);
  return rank.kth;
}

std::unique_ptr<Selector> make_top_k_selector(std::size_t elements, const RatioSchedule& ratio) {
  return std::make_unique<TopKSelector>(elements, ratio);
}

}  // namespace thinpipe
