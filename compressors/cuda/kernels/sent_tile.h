// A tile of the elements that are sent.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/payload_words.h"

namespace thinpipe::cuda {

/// View of the sent elements for kernels that write positions.
struct SentTile {
  Job job;
  std::uint32_t index;             ///< of the tile or part
  std::uint32_t count;             ///< positions of the tensor
  const std::uint32_t* positions;  ///< all of them
  std::uint32_t begin;             ///< first byte of the positions in the payload

  /// @param tile  a Tile or a Part
  template <class Range>
  THINPIPE_KERNEL SentTile(const Job* jobs, const Range& tile)
      : job(jobs[tile.job]),
        index(tile.index),
        count(job.findings->counts[job.sent]),
        positions(job.chosen.positions),
        begin(positions_at(job.values, count)) {}

  /// Returns the number of tiles with positions.
  THINPIPE_KERNEL std::uint32_t tiles() const { return tiles_of(count, kTile); }
};

}  // namespace thinpipe::cuda
