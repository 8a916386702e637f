// All tensors of a step, for kernel launches.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "compressors/cuda/kernels/job.h"

namespace thinpipe::cuda {

struct Batch {
  const Job* jobs = nullptr;  ///< device pointer, as all pointers of this struct
  std::size_t tensors = 0;
  const Tile* sum_tiles = nullptr;  ///< of kSumTile elements
  std::size_t sum_tile_count = 0;
  const Tile* tiles = nullptr;  ///< of kTile elements
  std::size_t tile_count = 0;
  const Part* parts = nullptr;  ///< of all tensors
  std::size_t part_count = 0;
  std::uint32_t fits = 0;     ///< maximum over the tensors in this step
  std::uint32_t choices = 0;  ///< maximum over the tensors in this step
};

/// Divides the tensors' elements evenly among the blocks that a device runs at a time, at least one
/// part per tensor. Sets Job::parts. @returns the parts of all tensors
inline std::vector<Part> divide_in_parts(std::span<Job> jobs, std::uint32_t processors) {
  std::uint64_t all = 0;
  for (const Job& job : jobs) all += tiles_of(job.n, kTile);
  std::vector<Part> parts;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::uint64_t tiles = tiles_of(jobs[i].n, kTile);
    const std::uint64_t blocks = std::uint64_t{processors} * kBlocksPerProcessor;
    jobs[i].parts =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(tiles * blocks / all, 1, tiles));
    for (std::uint32_t part = 0; part < jobs[i].parts; ++part)
      parts.push_back({static_cast<std::uint32_t>(i), part});
  }
  return parts;
}

}  // namespace thinpipe::cuda
