// Passes over the keys of what has been compacted already: fewer elements, in the caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/keys.h"

namespace thinpipe {

/// keys[i] = key_of(values[i], order).
void keys_of(std::span<const float> values, KeyOrder order, std::int32_t* keys);

/// Which keys of `values` lie in [low, high], and how many above.
struct KeysBetween {
  std::size_t kept = 0;
  std::size_t above = 0;
};
/// Writes the keys in [low, high] to `keys`, which has room for all. low <= high.
KeysBetween keys_between(std::span<const float> values, KeyOrder order, std::int32_t low,
                         std::int32_t high, std::int32_t* keys);

/// How many keys are >= limit.
std::size_t count_keys(std::span<const std::int32_t> keys, std::int32_t limit);

/// Keeps the keys in [low, high], in place. @returns how many.
std::size_t keep_keys(std::span<std::int32_t> keys, std::int32_t low, std::int32_t high);

}  // namespace thinpipe
