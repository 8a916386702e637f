// Exact selection of the k elements that rank first, the k-th greatest key, and samples from which
// thresholds are estimated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "compressors/kernels/keys.h"
#include "compressors/kernels/signal.h"
#include "compressors/select/selector.h"

namespace thinpipe {

/// The k-th greatest key, 1 <= k <= keys.size(); reorders and overwrites `keys`. Exact. Narrows the
/// keys in question by samples as long as there are many, each time by a pass that counts and one
/// that keeps, then sorts the rest in part.
std::int32_t kth_greatest(std::span<std::int32_t> keys, std::size_t k);

/// Keys between which the k-th greatest of n lies, most likely, by those of a random sample.
struct KeyBracket {
  std::int32_t low;      ///< k or more of all reach it, most likely
  std::int32_t certain;  ///< fewer than k reach it, most likely; kMaxKey: nothing is known
};

/// `sample` holds keys drawn at random from n; it is reordered. kDeviations standard deviations to
/// either side of the sample's own k-th.
KeyBracket bracket_of_sample(std::span<std::int32_t> sample, std::size_t k, std::size_t n);

/// How a tensor is sampled.
enum class Sampling {
  kUniform,  ///< elements drawn at random, with replacement
  kStrided,  ///< the middles of equal stretches
  kLines,    ///< runs of 16 neighbours, a cache line of floats, drawn at random
};

/// The k-th greatest of the keys of sampled elements of x, k = target_count(share, x.size()) or
/// the least where the sample has fewer. Leaves them in `sample` (at least one, at most x.size()),
/// reordered. Lines start at multiples of 16; up to 15 last elements, which fill no line, are never
/// drawn, and a tensor of less than a line is sampled uniformly.
std::int32_t sampled_key(const Signal& x, KeyOrder order, Sampling sampling, std::uint64_t seed,
                         std::uint64_t step, double share, std::span<std::int32_t> sample);

/// Exact top-k with one pass over the elements in almost all cases: a small random sample gives a
/// limit that k elements and some more reach (never mind which sample: the result is the same),
/// these are compacted, and the k-th is found among them. Should fewer than k reach it, a histogram
/// of keys gives a limit that enough are sure to reach. Ties go to the lowest positions.
class TopK {
 public:
  explicit TopK(std::size_t elements);

  /// Fills `selection` with the k <= x.size() elements that rank first in `order`, by position.
  /// @returns the key of the k-th.
  std::int32_t select(std::span<const float> x, KeyOrder order, std::size_t k,
                      Selection& selection);
  /// The same by magnitude.
  std::int32_t select(Signal& signal, std::size_t k, Selection& selection);

  /// Keeps the k that rank first of those `selection` already holds. @returns the key of the k-th.
  std::int32_t refine(KeyOrder order, std::size_t k, Selection& selection);

 private:
  /// The key of the k-th of some values, and how many reach it.
  struct Rank {
    std::int32_t kth;
    std::size_t reached;
  };
  Rank rank_of(std::span<const float> values, KeyOrder order, std::size_t k);
  /// A key that k elements reach, most likely; kMinKey where a sample is not worth it.
  std::int32_t low_by_sample(const Signal& x, KeyOrder order, std::size_t k);
  static std::int32_t low_by_histogram(std::span<const float> x, KeyOrder order, std::size_t k);

  Buffer<std::int32_t> keys_;
};

}  // namespace thinpipe
