// Keeps the elements whose key reaches a limit, with their positions, in one pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/keys.h"

namespace thinpipe {

/// Elements past the count that compact() may scribble on: two of the widest vectors.
constexpr std::size_t kCompactSlack = 64;

/// Writes position and value of every x with key_of(x, order) >= limit, in order of position.
/// Both outputs need room for the count and kCompactSlack more. @returns the count.
std::size_t compact(std::span<const float> x, KeyOrder order, std::int32_t limit,
                    std::uint32_t* positions, float* values);

/// How many x have key_of(x, order) >= limit.
std::size_t count_at_least(std::span<const float> x, KeyOrder order, std::int32_t limit);

}  // namespace thinpipe
