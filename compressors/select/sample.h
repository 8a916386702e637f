// Samples of a tensor, from which thresholds are estimated.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/keys.h"
#include "compressors/select/signal.h"

namespace thinpipe {

enum class Sampling {
  kUniform,  ///< elements drawn at random, with replacement
  kStrided,  ///< the middles of equal stretches
  kLines,    ///< runs of 16 neighbours, a cache line of floats, drawn at random
};

/// Fills `keys` (at least one, at most x.size()) with the keys of sampled elements of x. Lines
/// start at multiples of 16; up to 15 last elements, which fill no line, are never drawn, and a
/// tensor of less than a line is sampled uniformly.
void sample_keys(const Signal& x, KeyOrder order, Sampling sampling, std::uint64_t seed,
                 std::uint64_t step, std::span<std::int32_t> keys);

}  // namespace thinpipe
