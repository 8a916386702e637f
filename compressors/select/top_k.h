// Exact selection of the k elements that rank first, the k-th greatest key, and samples that
// estimate thresholds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "compressors/kernels/keys.h"
#include "compressors/kernels/signal.h"
#include "compressors/select/selector.h"

namespace thinpipe {

/// Returns the k-th greatest key, 1 <= k <= keys.size(); reorders and overwrites `keys`. Exact.
/// While many keys remain, samples narrow them to a bracket, each time with one pass that counts
/// and one that keeps; the rest is sorted in part.
std::int32_t kth_greatest(std::span<std::int32_t> keys, std::size_t k);

/// Keys that most likely bracket the k-th greatest of n keys, from a random sample.
struct KeyBracket {
  std::int32_t low;      ///< k or more of all keys most likely reach it
  std::int32_t certain;  ///< fewer than k most likely reach it; kMaxKey: nothing is known
};

/// Returns the bracket that lies kDeviations standard deviations to either side of the sample's own
/// k-th key. `sample` holds keys drawn at random from n and is reordered.
KeyBracket bracket_of_sample(std::span<std::int32_t> sample, std::size_t k, std::size_t n);

/// Sampling schemes of a tensor.
enum class Sampling {
  kUniform,  ///< elements drawn at random, with replacement
  kStrided,  ///< the middles of equal ranges
  kLines,    ///< runs of 16 neighbours, a cache line of floats, drawn at random
};

/// Returns the k-th greatest of the keys of sampled elements of x, k = target_count(share,
/// x.size()), or the least where the sample has fewer. Leaves the keys in `sample` (at least one,
/// at most x.size()), reordered. Lines start at multiples of 16; up to 15 last elements, which do
/// not fill a line, are never drawn, and a tensor of less than a line is sampled uniformly.
std::int32_t sampled_key(const Signal& x, KeyOrder order, Sampling sampling, std::uint64_t seed,
                         std::uint64_t step, double share, std::span<std::int32_t> sample);

/// Exact top-k with one pass over the elements in almost all cases. A small random sample gives a
/// limit that somewhat more than k elements reach. These are compacted, and the k-th is found among
/// them. The sample does not affect the result: the limit only has to be reached by at least k
/// elements, which are counted. Should fewer than k reach it, a histogram of keys gives a limit
/// that enough elements are certain to reach. Ties go to the lowest positions.
class TopK {
 public:
  explicit TopK(std::size_t elements);

  /// Fills `selection` with the k <= x.size() elements that rank first in `order`, by position.
  /// @returns the key of the k-th.
  std::int32_t select(std::span<const float> x, KeyOrder order, std::size_t k,
                      Selection& selection);
  /// Selects by magnitude.
  std::int32_t select(Signal& signal, std::size_t k, Selection& selection);

  /// Keeps the k elements of `selection` that rank first. @returns the key of the k-th.
  std::int32_t refine(KeyOrder order, std::size_t k, Selection& selection);

 private:
  /// The key of the k-th of some values, and the number of values that reach it.
  struct Rank {
    std::int32_t kth;
    std::size_t reached;
  };
  Rank rank_of(std::span<const float> values, KeyOrder order, std::size_t k);
  /// Returns a key that most likely k elements reach; kMinKey where a sample costs more than it
  /// saves.
  std::int32_t low_by_sample(const Signal& x, KeyOrder order, std::size_t k);
  static std::int32_t low_by_histogram(std::span<const float> x, KeyOrder order, std::size_t k);

  Buffer<std::int32_t> keys_;
};

}  // namespace thinpipe
