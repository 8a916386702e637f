// Bit operations on rows of a warp's lanes.
#pragma once

#include <bit>
#include <cstdint>

#include "base/both.h"
#include "compressors/cuda/kernels/job.h"

namespace thinpipe::cuda {

THINPIPE_KERNEL inline std::uint32_t ones(std::uint32_t word) {
#ifdef __CUDACC__
  return static_cast<std::uint32_t>(__popc(word));
#else
  return static_cast<std::uint32_t>(std::popcount(word));
#endif
}
/// Returns the index of the highest 1 bit of a word, which must not be 0.
THINPIPE_KERNEL inline std::uint32_t highest(std::uint32_t word) {
#ifdef __CUDACC__
  return 31 - static_cast<std::uint32_t>(__clz(static_cast<int>(word)));
#else
  return 31 - static_cast<std::uint32_t>(std::countl_zero(word));
#endif
}
/// Returns the index of the lowest 1 bit of a word; 32 if the word is 0.
THINPIPE_KERNEL inline std::uint32_t lowest(std::uint32_t word) {
  return word == 0 ? 32 : highest(word & (0 - word));
}
/// Returns a mask of the lanes before thread t's lane.
THINPIPE_KERNEL inline std::uint32_t lanes_before(int t) {
  return (std::uint32_t{1} << t % 32) - 1;
}

/// Returns the position in the tensor of thread t's j-th element of a tile. Each warp has a
/// contiguous range of `rows` rows of 32 elements.
THINPIPE_KERNEL inline std::uint32_t row_position(std::uint32_t tile, int t, unsigned j,
                                                  unsigned rows) {
  const auto thread = static_cast<std::uint32_t>(t);
  return tile * kTile + thread / 32 * (32 * rows) + j * 32 + thread % 32;
}

}  // namespace thinpipe::cuda
