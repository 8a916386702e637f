// Sampled brackets around the k-th key.
#include "compressors/select/kth.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <functional>

#include "compressors/kernels/filter.h"
#include "compressors/random.h"

namespace thinpipe {
namespace {

/// Up to here the library's selection takes less than another round.
constexpr std::size_t kFew = 4096;
constexpr std::size_t kSample = 1024;
/// One sample in 16 000 leaves the k-th outside, which costs a round and nothing else.
constexpr double kDeviations = 4;

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
      // Many ties: the k-th may be the bracket's end itself.
      if (above >= k && count_keys(keys, bracket.certain + 1) < k) return bracket.certain;
    }
    if (above >= k || count_keys(keys, bracket.low) < k) break;  // it lies outside
    const std::size_t before = keys.size();
    keys = keys.first(keep_keys(keys, bracket.low, most));
    k -= above;
    if (keys.size() > before / 2) break;  // no sample tells these apart
  }
  std::nth_element(keys.begin(), keys.begin() + static_cast<std::ptrdiff_t>(k - 1), keys.end(),
                   std::greater<>());
  return keys[k - 1];
}

}  // namespace thinpipe
