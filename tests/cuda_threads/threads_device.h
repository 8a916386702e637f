// A simulated GPU that runs CudaBlock itself, with every thread on its own stack.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compressors/cuda/grid/host_device.h"
#include "tests/cuda_threads/grid.h"
#include "tests/cuda_threads/intrinsics.h"
// After the intrinsics.
#include "compressors/cuda/grid/cuda_block.cuh"

namespace thinpipe::cuda {

/// SerialBlock simulates CudaBlock; this class runs CudaBlock's own code on simulated CUDA
/// functions. Threads run from one barrier to the next, in an order that is drawn again each time,
/// including the code of kernels outside of each(); a thread may be a barrier ahead of others.
/// Several blocks run at a time. Much slower than SerialDevice.
class ThreadsSimulator {
 public:
  explicit ThreadsSimulator(std::uint64_t seed) : grid_(seed) {}

  template <class Kernel>
  void run(const Kernel& kernel, std::size_t blocks) {
    using Block = CudaBlock<Kernel::kThreads>;
    struct SharedMemory {
      alignas(16) typename Kernel::Shared kernel;
      alignas(16) typename Block::Shared block;
    };
    grid_.run(static_cast<unsigned>(blocks), Kernel::kThreads, sizeof(SharedMemory),
              [&](std::byte* at) {
                SharedMemory& shared = *reinterpret_cast<SharedMemory*>(at);
                Block block(shared.block);
                kernel(block, shared.kernel);
              });
  }

 private:
  simulated::Grid grid_;
};

using ThreadsDevice = HostDevice<ThreadsSimulator>;

}  // namespace thinpipe::cuda
