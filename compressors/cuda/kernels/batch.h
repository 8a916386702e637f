// All tensors of a step, for kernel launches.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compressors/cuda/kernels/job.h"

namespace thinpipe::cuda {

struct Batch {
  const Job* jobs = nullptr;  ///< device pointer, as all pointers of this struct
  std::size_t tensors = 0;
  const Tile* sum_tiles = nullptr;  ///< of kSumTile elements
  std::size_t sum_tile_count = 0;
  const Tile* tiles = nullptr;  ///< of kTile elements
  std::size_t tile_count = 0;
  std::uint32_t fits = 0;     ///< maximum over the tensors in this step
  std::uint32_t choices = 0;  ///< maximum over the tensors in this step
};

}  // namespace thinpipe::cuda
