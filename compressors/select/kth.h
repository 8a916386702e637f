// The k-th greatest of many keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

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

}  // namespace thinpipe
