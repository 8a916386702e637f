// A processor that plays a GPU on which compressors are timed, and that can lie.
#pragma once

#include <cstddef>

#include "harness/bench/bench.h"

namespace thinpipe {

struct PlayedGpu {
  std::size_t l2_bytes = 1 << 14;
  std::size_t memory_bytes = std::size_t{1} << 40;
  double clock_factor = 1;        ///< what its clock says for a second
  std::size_t corrupt_from = -1;  ///< downloads of as many bytes or more have one that is wrong
  int honest_downloads = 0;       ///< of these, so many are right at first
  int* opened = nullptr;          ///< counts
};

OpenDevice play_gpu(const PlayedGpu& played = {});

}  // namespace thinpipe
