// Simulated GPUs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "compressors/cuda/rank_device.h"
#include "compressors/cuda/timed_device.h"

namespace thinpipe::cuda {

/// Makes a simulated GPU for a rank.
/// @param seed        of the order in which threads run
/// @param busy_polls  of copies (SerialCopies)
RankDevice simulated_rank_device(std::uint64_t seed, int busy_polls = 2);

/// Makes a simulated GPU with a clock.
TimedDevice simulated_timed_device(std::uint64_t seed);

/// Makes compressors. @param memory  of simulated_timed_device()
std::unique_ptr<DeviceCompressor> make_simulated_compressor(
    const std::shared_ptr<DeviceMemory>& memory, const Spec& spec,
    std::span<const TensorInfo> tensors, const CompressorSettings& settings);

}  // namespace thinpipe::cuda
