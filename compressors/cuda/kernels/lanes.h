// Rows of a warp's lanes, as bits.
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
/// The place of the highest bit of a word that is not 0.
THINPIPE_KERNEL inline std::uint32_t highest(std::uint32_t word) {
#ifdef __CUDACC__
  return 31 - static_cast<std::uint32_t>(__clz(static_cast<int>(word)));
#else
  return 31 - static_cast<std::uint32_t>(std::countl_zero(word));
#endif
}
/// The place of the lowest bit of a word; 32 where it is 0.
THINPIPE_KERNEL inline std::uint32_t lowest(std::uint32_t word) {
  return word == 0 ? 32 : highest(word & (0 - word));
}
THINPIPE_KERNEL inline std::uint32_t lanes_before(int t) {
  return (std::uint32_t{1} << t % 32) - 1;
}

/// Where in a tensor thread t's j-th element of a tile is, of `rows` that each has: a warp has a
/// stretch of its own, in which rows of 32 follow each other.
THINPIPE_KERNEL inline std::uint32_t row_place(std::uint32_t tile, int t, unsigned j,
                                               unsigned rows) {
  const auto thread = static_cast<std::uint32_t>(t);
  return tile * kTile + thread / 32 * (32 * rows) + j * 32 + thread % 32;
}

}  // namespace thinpipe::cuda
