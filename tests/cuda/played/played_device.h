// A rank's device that a processor plays.
#pragma once

#include <cstdint>

#include "compressors/cuda/rank_device.h"
#include "compressors/cuda/timed_device.h"

namespace thinpipe::cuda {

/// @param seed  of the order in which threads take turns @param patience  of copies (SerialCopies)
RankDevice play_rank_device(std::uint64_t seed, int patience = 2);

}  // namespace thinpipe::cuda
