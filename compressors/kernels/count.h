// Counts of several thresholds in one pass.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/keys.h"

namespace thinpipe {

/// The most limits of one pass: as many counters as fit into registers beside the data.
constexpr std::size_t kMaxLimits = 8;

/// counts[j] = how many x have key_of(x, KeyOrder::kMagnitude) >= limits[j]. At most kMaxLimits
/// limits, none of them negative; counts has as many.
void count_magnitudes(std::span<const float> x, std::span<const std::int32_t> limits,
                      std::span<std::size_t> counts);

}  // namespace thinpipe
