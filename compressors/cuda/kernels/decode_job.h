// Payloads of many tensors, which the same few kernels decode together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compressors/cuda/kernels/chunk_layout.h"
#include "compressors/cuda/kernels/payload_view.h"
#include "compressors/cuda/kernels/prefix.h"

namespace thinpipe::cuda {

struct Passed;

/// Launch grids of the decoding kernels. Every payload has its own number of blocks in each grid,
/// possibly 0. Each compression method decides which of its kernels use which grid.
enum class DecodeGrid : std::uint32_t { kPositions, kElements, kTiles, kParts, kEach };
constexpr std::size_t kPlannedGrids = 4;  ///< all but kEach, in which each payload has one block
constexpr std::size_t kDecodeGrids = kPlannedGrids + 1;

/// One payload and its output. All pointers are device pointers.
struct DecodeJob {
  PayloadView payload = {};
  std::uint32_t tensor = 0;  ///< index in the compressor
  float factor = 1;
  float* out = nullptr;
  std::uint32_t* problem = nullptr;  ///< 0 at first; set by kernels
  std::uint32_t* arrived = nullptr;  ///< 0 between kernels

  // Fields for methods, which set those that they need.
  Passed* passed = nullptr;              ///< workspace of DecodePlan::passed entries
  std::uint32_t* positions = nullptr;    ///< output array
  float* values = nullptr;               ///< output array
  std::uint32_t* begins = nullptr;       ///< of chunks or buckets
  PrefixState* states = nullptr;         ///< one per tile of kTile bytes; empty
  const std::uint32_t* signs = nullptr;  ///< Job::signs
  std::uint32_t columns = 0;             ///< Job::columns
  std::uint32_t part = 0;                ///< index in a method's own table
  std::uint32_t bits = 0;                ///< of codes of equal length (LevelView)
  std::uint32_t bucket = 0;              ///< SliceCut::bucket
  std::uint32_t* drawn = nullptr;        ///< Job::drawn
  std::uint64_t seed = 0;                ///< of drawn positions
  ChunkLayout chunks = {};               ///< Job::chunks

  std::uint32_t first_block[kDecodeGrids] = {};  ///< first block of this job, by grid
};

/// Reports a problem of a payload by a method's number; the maximum number is kept.
template <class Block, class Problem>
THINPIPE_KERNEL void tell(Block& block, const DecodeJob& job, Problem found) {
  block.set_greatest(job.problem, static_cast<std::uint32_t>(found));
}

}  // namespace thinpipe::cuda
