// Payloads of many tensors that are decoded together: a model's hundreds of layers by the same few
// kernels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compressors/cuda/kernels/chunk_layout.h"
#include "compressors/cuda/kernels/payload_view.h"
#include "compressors/cuda/kernels/prefix.h"

namespace thinpipe::cuda {

struct Passed;

/// Grids of the decoding kernels: every payload has a number of blocks in each, which may be none.
/// A method says what it takes them for.
enum class DecodeGrid : std::uint32_t { kPositions, kElements, kTiles, kParts, kEach };
constexpr std::size_t kPlannedGrids = 4;  ///< in kEach all payloads have one block
constexpr std::size_t kDecodeGrids = kPlannedGrids + 1;

/// One payload, and what is added to. Everything pointed to is the device's.
struct DecodeJob {
  PayloadView payload = {};
  std::uint32_t tensor = 0;  ///< among the compressor's
  float factor = 1;
  float* out = nullptr;
  std::uint32_t* problem = nullptr;  ///< 0 at first; what kernels find wrong
  std::uint32_t* arrived = nullptr;  ///< 0 between kernels

  // Fields that methods need and set by themselves.
  Passed* passed = nullptr;              ///< as many as DecodePlan::passed
  std::uint32_t* positions = nullptr;    ///< room for them
  float* values = nullptr;               ///< likewise
  std::uint32_t* begins = nullptr;       ///< of chunks or buckets
  PrefixState* states = nullptr;         ///< for a tile of kTile bytes each; empty
  const std::uint32_t* signs = nullptr;  ///< Job::signs
  std::uint32_t columns = 0;             ///< Job::columns
  std::uint32_t part = 0;                ///< of a method's own table
  std::uint32_t bits = 0;                ///< of codes of equal length (LevelView)
  std::uint32_t bucket = 0;              ///< PieceCut::bucket
  std::uint32_t* drawn = nullptr;        ///< Job::drawn
  std::uint64_t seed = 0;                ///< of what is drawn
  ChunkLayout chunks = {};               ///< Job::chunks

  std::uint32_t first_block[kDecodeGrids] = {};  ///< of its own, in each grid
};

/// Something is wrong with it: a method's number, of which the greatest is kept.
template <class Block, class Problem>
THINPIPE_KERNEL void tell(Block& block, const DecodeJob& job, Problem found) {
  block.set_greatest(job.problem, static_cast<std::uint32_t>(found));
}

}  // namespace thinpipe::cuda
