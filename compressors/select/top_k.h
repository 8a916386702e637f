// Exact selection of the k elements that rank first.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "compressors/kernels/keys.h"
#include "compressors/select/ratio.h"
#include "compressors/select/selector.h"

namespace thinpipe {

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

/// The k = target_count(ratio) largest magnitudes.
std::unique_ptr<Selector> make_top_k_selector(std::size_t elements, const RatioSchedule& ratio);

}  // namespace thinpipe
