// Restores elements of sparse all-reduces to memories.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compressors/cuda/kernels/in_tile.h"

namespace thinpipe::cuda {

/// Elements to restore to one tensor's memory.
struct GiveBackJob {
  float* memory = nullptr;
  const std::uint32_t* positions = nullptr;  ///< distinct
  const float* values = nullptr;
  std::uint32_t count = 0;
  bool is_estimate = false;
  std::uint32_t first_block[1] = {};
};

/// Adds each value to the memory at its position, or subtracts it if the memory is an estimate.
/// Results that are not finite become 0, as in scatter() of memory/memory.h. Grid:
/// blocks_for(count).
struct GiveBack {
  static constexpr int kThreads = 256;
  static constexpr std::uint32_t kElements = 4096;  ///< of a block: 16 a thread
  struct Shared {};

  static constexpr std::size_t blocks_for(std::size_t n) { return (n + kElements - 1) / kElements; }

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/, const GiveBackJob& job) const {
    block.each([&](int t) {
      each_in_tile<kThreads, kElements>(t, block.index(), job.count, [&](std::uint32_t i) {
        float& kept = job.memory[job.positions[i]];
        const float value = job.is_estimate ? kept - job.values[i] : kept + job.values[i];
        kept = value - value == 0 ? value : 0.0F;
      });
    });
  }
};

}  // namespace thinpipe::cuda
