// Keeps some of what has been compacted already: fewer elements, in the caches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/keys.h"

namespace thinpipe {

/// Which pairs of position and value stay: those whose value's key is greater than `below`; from
/// the begin-th to before the end-th those whose key is greater than `below_within`.
struct Cut {
  KeyOrder order = KeyOrder::kMagnitude;
  std::int32_t below = 0;
  std::int32_t below_within = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Keys of at least `limit`, wherever they are.
constexpr Cut cut_at(KeyOrder order, std::int32_t limit) {
  return {.order = order, .below = just_below(limit), .below_within = just_below(limit)};
}

/// All keys greater than `most`, and `take` of those in [low, most], neighbours among these from
/// the start-th (the first is the 0-th) on. There are as many.
Cut cut_between(KeyOrder order, std::int32_t low, std::int32_t most, std::size_t start,
                std::size_t take, std::span<const float> values);

/// How many stay.
std::size_t count_kept(const Cut& cut, std::span<const float> values);

/// Keeps these, in their order, in place. @returns how many.
std::size_t filter(const Cut& cut, std::size_t count, std::uint32_t* positions, float* values);

/// Writes these, `kept` of them, elsewhere: a payload has no alignment.
void filter_into(const Cut& cut, std::span<const std::uint32_t> positions,
                 std::span<const float> values, std::size_t kept, std::byte* out_positions,
                 std::byte* out_values);

/// How many x have key_of(x, order) >= limit.
std::size_t count_at_least(std::span<const float> x, KeyOrder order, std::int32_t limit);

}  // namespace thinpipe
