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
/// limit that about k elements reach (never mind which sample: the result is the same), these are
/// compacted, and the k-th is found among them. Should fewer than k reach it, a histogram of keys
/// gives a limit that enough are sure to reach. Ties go to the lowest positions.
class TopK {
 public:
  explicit TopK(std::size_t elements);

  /// Fills `selection` with the k <= x.size() elements that rank first in `order`, by position.
  /// @returns the key of the k-th.
  std::int32_t select(std::span<const float> x, KeyOrder order, std::size_t k,
                      Selection& selection);

  /// Keeps the k that rank first of those `selection` already holds. `certain` is a key that fewer
  /// than k are thought to reach (kMaxKey: unknown); it only saves work. @returns the key of the
  /// k-th.
  std::int32_t refine(KeyOrder order, std::size_t k, std::int32_t certain, Selection& selection);

 private:
  struct Bracket {
    std::int32_t low;      ///< about k and a bit more reach it
    std::int32_t certain;  ///< fewer than k reach it, most likely
  };
  Bracket sample(std::span<const float> x, KeyOrder order, std::size_t k);
  static std::int32_t low_by_histogram(std::span<const float> x, KeyOrder order, std::size_t k);

  Buffer<std::int32_t> keys_;
};

/// The k = target_count(ratio) largest magnitudes.
std::unique_ptr<Selector> make_top_k_selector(std::size_t elements, const RatioSchedule& ratio);

}  // namespace thinpipe
