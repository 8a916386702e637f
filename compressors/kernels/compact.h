// Keeps the elements whose key reaches a limit, with their positions, in one pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/keys.h"
#include "compressors/kernels/sum.h"

namespace thinpipe {

constexpr int kMaxCompactThreads = 4;
/// Elements past the end of a tensor that compact() may scribble on, in both of its outputs: the
/// widest vectors, for each of its threads.
constexpr std::size_t kCompactSlack = 256;

/// Writes position and value of every x with key_of(x, order) >= limit, in order of position. Both
/// outputs need room for x.size() + kCompactSlack. Runs on up to kMaxCompactThreads threads
/// (kernels/parallel.h). @returns the count.
std::size_t compact(std::span<const float> x, KeyOrder order, std::int32_t limit,
                    std::uint32_t* positions, float* values);

/// The same by magnitude of the sum, which is computed and stored in the same pass.
std::size_t compact_sum(const PendingSum& sum, std::int32_t limit, std::uint32_t* positions,
                        float* values);

}  // namespace thinpipe
