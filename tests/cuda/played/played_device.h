// Devices that a processor plays.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "compressors/cuda/rank_device.h"
#include "compressors/cuda/timed_device.h"

namespace thinpipe::cuda {

/// @param seed  of the order in which threads take turns @param patience  of copies (SerialCopies)
RankDevice play_rank_device(std::uint64_t seed, int patience = 2);

/// The same, to be timed.
TimedDevice play_timed_device(std::uint64_t seed);

/// @param memory  of play_timed_device()
std::unique_ptr<DeviceCompressor> make_played_compressor(
    const std::shared_ptr<DeviceMemory>& memory, const Spec& spec,
    std::span<const TensorInfo> tensors, const CompressorSettings& settings);

}  // namespace thinpipe::cuda
