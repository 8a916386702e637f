// All tensors of a step, as kernels are launched on them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compressors/cuda/kernels/job.h"

namespace thinpipe::cuda {

struct Batch {
  const Job* jobs = nullptr;  ///< on the device, as all else
  std::size_t tensors = 0;
  const Tile* sum_tiles = nullptr;  ///< of kSumTile elements
  std::size_t sum_tile_count = 0;
  const Tile* tiles = nullptr;  ///< of kTile elements
  std::size_t tile_count = 0;
  std::uint32_t fits = 0;     ///< the most that a tensor has in this step
  std::uint32_t choices = 0;  ///< likewise
};

}  // namespace thinpipe::cuda
