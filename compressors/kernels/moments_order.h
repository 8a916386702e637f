// The order in which the magnitudes of a tensor are added up, on processors and on GPUs.
#pragma once

#include <cstddef>

#include "compressors/kernels/streams.h"

namespace thinpipe {

/// Rows between two flushes into doubles: 128 float additions keep the relative error
/// of a partial sum under 128 * 2^-24 = 8e-6, and far under it in practice.
constexpr std::size_t kMomentRows = 128;
/// Of one block.
constexpr std::size_t kMomentFlushes = 4;
/// Rows of a stream in one block: 32 KiB, as in compact.cc.
constexpr std::size_t kMomentBlockRows = kMomentFlushes * kMomentRows;
constexpr std::size_t kMomentLanes = kRowLanes;
constexpr std::size_t kMomentPartials = kPartials;
constexpr std::size_t kMomentBlock = kStreams * kMomentBlockRows * kRowLanes;
/// Parts with a sum of their own; any number of threads shares them.
constexpr std::size_t kMomentParts = 64;

}  // namespace thinpipe
