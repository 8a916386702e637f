// Selects exactly the k elements that rank first, finds the k-th greatest key, and estimates
// thresholds from samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/keys.h"
#include "compressors/kernels/signal.h"
#include "compressors/select/selector.h"

namespace thinpipe {

/// Returns exactly the k-th greatest key, 1 <= k <= keys.size(). Reorders and overwrites `keys`.
/// While many keys remain, a random sample gives a bracket around the k-th key. Each such round
/// counts the keys above the bracket and keeps only the keys inside it. The few remaining keys are
/// partially sorted.
std::int32_t kth_greatest(std::span<std::int32_t> keys, std::size_t k);

/// Keys that most likely bracket the k-th greatest of n keys, from a random sample.
struct KeyBracket {
  std::int32_t low;      ///< k or more of all keys most likely reach it
  std::int32_t certain;  ///< fewer than k most likely reach it; kMaxKey: nothing is known
};

/// Returns a bracket that most likely contains the k-th greatest of n keys. It reaches kDeviations
/// standard deviations to either side of the sample's key of the same relative rank. `sample` has
/// keys drawn at random from the n keys and is reordered.
KeyBracket bracket_of_sample(std::span<std::int32_t> sample, std::size_t k, std::size_t n);

/// Sampling schemes of a tensor.
enum class Sampling {
  kUniform,  ///< elements drawn at random, with replacement
  kStrided,  ///< the middles of equal ranges
  kLines,    ///< runs of 16 neighbours, a cache line of floats, drawn at random
};

/// Samples elements of x and returns the k-th greatest of their keys, with k = target_count(share,
/// x.size()). Returns the least key if the sample has fewer than k. Leaves the keys in `sample` (at
/// least one, at most x.size()), reordered. With kLines, lines start at multiples of 16. The last
/// elements, up to 15 that do not fill a line, are never drawn. A tensor of less than a line is
/// sampled uniformly.
std::int32_t sampled_key(const Signal& x, KeyOrder order, Sampling sampling, std::uint64_t seed,
                         std::uint64_t step, double share, std::span<std::int32_t> sample);

/// Exact top-k with one pass over the elements in almost all cases. A small random sample gives a
/// limit that somewhat more than k elements reach. These elements are compacted, and the k-th is
/// found among them. The sample does not affect the result, because the elements that reach the
/// limit are counted, and k of them suffice. If fewer than k elements reach the limit, a histogram
/// of keys gives a limit that at least k elements certainly reach. Among equal keys, the lowest
/// positions are chosen.
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
  /// Returns a key that, by a sample, most likely at least k elements reach. Returns kMinKey, which
  /// all elements reach, if x is so small that a sample costs more than it saves.
  std::int32_t low_by_sample(const Signal& x, KeyOrder order, std::size_t k);
  static std::int32_t low_by_histogram(std::span<const float> x, KeyOrder order, std::size_t k);

  Buffer<std::int32_t> keys_;
};

}  // namespace thinpipe
