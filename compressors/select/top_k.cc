// Exact top-k: sample, compact once, refine.
#include "compressors/select/top_k.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <functional>

#include "compressors/kernels/compact.h"
#include "compressors/random.h"

namespace thinpipe {
namespace {

/// Below this a sample is not worth its cost: all keys are looked at.
constexpr std::size_t kMinSampled = 8192;
/// One in 32 elements, at most 16384: at 26 million elements and a ratio of 0.001, 16 sampled
/// elements are expected above the k-th, and 4 standard deviations make the bracket 2 k wide.
constexpr std::size_t kSampleShare = 32;
constexpr std::size_t kMaxSample = 16384;
constexpr double kDeviations = 4;

class TopKSelector : public Selector {
 public:
  TopKSelector(std::size_t elements, RatioSchedule ratio)
      : ratio_(std::move(ratio)), elements_(elements), top_k_(elements) {}

  std::size_t max_selected() const override { return target_count(ratio_.greatest(), elements_); }
  void select(std::span<const float> c, const SelectContext& context,
              Selection& selection) override {
    selection.target = target_count(ratio_.at(context.epoch), c.size());
    const std::int32_t key = top_k_.select(c, KeyOrder::kMagnitude, selection.target, selection);
    selection.threshold = c.empty() ? 0.0 : static_cast<double>(magnitude_of(key));
  }

 private:
  RatioSchedule ratio_;
  std::size_t elements_;
  TopK top_k_;
};

}  // namespace

TopK::TopK(std::size_t elements) : keys_(std::max(elements, kMaxSample)) {}

TopK::Bracket TopK::sample(std::span<const float> x, KeyOrder order, std::size_t k) {
  if (x.size() < kMinSampled) return {.low = kMinKey, .certain = kMaxKey};
  const std::size_t n = std::min(x.size() / kSampleShare, kMaxSample);
  SplitMix64 random(x.size());
  for (std::size_t i = 0; i < n; ++i) keys_[i] = key_of(x[random.below(x.size())], order);
  const double expected =
      static_cast<double>(n) * static_cast<double>(k) / static_cast<double>(x.size());
  const double margin = kDeviations * std::sqrt(expected) + 1;
  const auto low = static_cast<std::size_t>(expected + margin);
  Bracket bracket{.low = kMinKey, .certain = kMaxKey};
  auto* const begin = keys_.data();
  if (low < n) {
    std::nth_element(begin, begin + low, begin + n, std::greater<>());
    bracket.low = keys_[low];
    if (expected > margin) {
      const auto high = static_cast<std::size_t>(expected - margin);
      std::nth_element(begin, begin + high, begin + low, std::greater<>());
      bracket.certain = keys_[high];
    }
  }
  return bracket;
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
  Bracket bracket = sample(x, order, k);
  const auto compact_all = [&] {
    selection.count =
        compact(x, order, bracket.low, selection.positions.data(), selection.values.data());
    ++selection.passes;
  };
  compact_all();
  if (selection.count < k) {
    bracket.low = low_by_histogram(x, order, k);
    ++selection.passes;
    compact_all();
  }
  return refine(order, k, bracket.certain, selection);
}

std::int32_t TopK::refine(KeyOrder order, std::size_t k, std::int32_t certain,
                          Selection& selection) {
  assert(k > 0 && k <= selection.count);
  // Only keys under `certain` are in question, as long as fewer than k reach it.
  std::size_t unsure = 0;
  for (std::size_t i = 0; i < selection.count; ++i) {
    const std::int32_t key = key_of(selection.values[i], order);
    keys_[unsure] = key;
    unsure += key < certain ? 1 : 0;
  }
  std::size_t sure = selection.count - unsure;
  if (sure >= k) {
    for (std::size_t i = 0; i < selection.count; ++i) {
      keys_[i] = key_of(selection.values[i], order);
    }
    unsure = selection.count;
    sure = 0;
  }
  auto* const begin = keys_.data();
  auto* const nth = begin + (k - sure - 1);
  std::nth_element(begin, nth, begin + unsure, std::greater<>());
  const std::int32_t kth = *nth;
  // Among the first k - sure - 1 of the unsure ones, those above the k-th; the rest are ties.
  const auto above = static_cast<std::size_t>(
      std::count_if(begin, nth, [kth](std::int32_t key) { return key > kth; }));
  std::size_t ties = k - sure - above;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < selection.count; ++i) {
    const std::int32_t key = key_of(selection.values[i], order);
    const bool tie = key == kth && ties > 0;
    selection.positions[kept] = selection.positions[i];
    selection.values[kept] = selection.values[i];
    kept += key > kth || tie ? 1 : 0;
    ties -= tie ? 1 : 0;
  }
  assert(kept == k);
  selection.count = kept;
  return kth;
}

std::unique_ptr<Selector> make_top_k_selector(std::size_t elements, const RatioSchedule& ratio) {
  return std::make_unique<TopKSelector>(elements, ratio);
}

}  // namespace thinpipe
