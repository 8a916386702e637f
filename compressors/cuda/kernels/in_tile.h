// Distribution of a tile's elements over a block's threads.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/job.h"

namespace thinpipe::cuda {

/// Calls body(i) for each element i of a tile that thread t processes. A tile has kSize elements; n
/// is the number of elements of all tiles together. Consecutive threads get consecutive elements.
template <int kThreads, std::uint32_t kSize = kTile, class Number, class Body>
THINPIPE_KERNEL void each_in_tile(int t, std::uint32_t tile, Number n, Body body) {
  for (std::uint32_t j = 0; j < kSize; j += kThreads) {
    const std::uint32_t within = j + static_cast<std::uint32_t>(t);
    const Number i = Number{tile} * kSize + within;
    if (i >= n || (kSize % kThreads != 0 && within >= kSize)) return;
    body(i);
  }
}

}  // namespace thinpipe::cuda
