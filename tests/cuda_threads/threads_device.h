// A processor that plays a GPU with CudaBlock itself, every thread on a stack of its own.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compressors/cuda/grid/host_device.h"
#include "tests/cuda_threads/grid.h"
#include "tests/cuda_threads/intrinsics.h"
// After the intrinsics.
#include "compressors/cuda/grid/cuda_block.cuh"

namespace thinpipe::cuda {

/// SerialBlock plays what CudaBlock does; this runs CudaBlock's own lines, with CUDA's functions
/// played. Threads go on from one barrier to the next, in an order drawn anew each time, and all
/// that is between, also what kernels do outside of each(): a thread may be a barrier ahead of
/// others. Blocks are under way at the same time. Slower than SerialDevice by far.
class ThreadsPlayer {
 public:
  explicit ThreadsPlayer(std::uint64_t seed) : grid_(seed) {}

  template <class Kernel>
  void play(const Kernel& kernel, std::size_t blocks) {
    using Block = CudaBlock<Kernel::kThreads>;
    struct Room {
      alignas(16) typename Kernel::Shared shared;
      alignas(16) typename Block::Shared own;
    };
    grid_.run(static_cast<unsigned>(blocks), Kernel::kThreads, sizeof(Room), [&](std::byte* at) {
      Room& room = *reinterpret_cast<Room*>(at);
      Block block(room.own);
      kernel(block, room.shared);
    });
  }

 private:
  played::Grid grid_;
};

using ThreadsDevice = HostDevice<ThreadsPlayer>;

}  // namespace thinpipe::cuda
