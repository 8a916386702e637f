// A simulated GPU that runs CudaBlock itself, with every thread on its own stack.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "compressors/cuda/grid/host_device.h"
#include "compressors/cuda/kernels/prefix.h"
#include "tests/cuda_threads/grid.h"

// The parts of CUDA C++ that CudaBlock uses, for simulated threads.
// NOLINTBEGIN(bugprone-reserved-identifier, cert-dcl37-c, cert-dcl51-cpp): CUDA's own names.
#define __device__
#define threadIdx (::thinpipe::cuda::simulated::Index{::thinpipe::cuda::simulated::Grid::thread()})
#define blockIdx (::thinpipe::cuda::simulated::Index{::thinpipe::cuda::simulated::Grid::block()})

namespace thinpipe::cuda::simulated {

struct Index {
  unsigned x;
};

inline void __syncthreads() { Grid::wait(); }
/// One CPU thread runs all simulated threads, so that nothing must be ordered.
inline void __threadfence() {}

inline std::uint32_t __ballot_sync(unsigned /*lanes*/, int holds) {
  const std::uint32_t* const values = Grid::exchange(Together::kBallot, holds != 0 ? 1 : 0);
  std::uint32_t word = 0;
  for (int lane = 0; lane < kWarpThreads; ++lane) word |= values[lane] << lane;
  return word;
}
inline std::uint32_t __reduce_add_sync(unsigned /*lanes*/, std::uint32_t x) {
  const std::uint32_t* const values = Grid::exchange(Together::kSum, x);
  std::uint32_t sum = 0;
  for (int lane = 0; lane < kWarpThreads; ++lane) sum += values[lane];
  return sum;
}
inline std::uint32_t __reduce_max_sync(unsigned /*lanes*/, std::uint32_t x) {
  const std::uint32_t* const values = Grid::exchange(Together::kMax, x);
  return *std::max_element(values, values + kWarpThreads);
}
inline std::uint32_t __shfl_sync(unsigned /*lanes*/, std::uint32_t x, int from) {
  return Grid::exchange(Together::kShuffle, x)[from % kWarpThreads];
}
inline std::uint32_t __shfl_up_sync(unsigned /*lanes*/, std::uint32_t x, int distance) {
  const std::uint32_t* const values = Grid::exchange(Together::kShuffleUp, x);
  const auto lane = static_cast<int>(Grid::thread() % kWarpThreads);
  return values[lane < distance ? lane : lane - distance];
}
/// Returns the index of the lowest 1 bit, from 1; 0 if the word is 0.
inline int __ffs(int word) {
  return word == 0 ? 0 : std::countr_zero(static_cast<unsigned>(word)) + 1;
}

inline std::uint32_t atomicAdd(std::uint32_t* to, std::uint32_t value) {
  return std::atomic_ref(*to).fetch_add(value, std::memory_order_relaxed);
}
inline std::uint32_t atomicOr(std::uint32_t* to, std::uint32_t bits) {
  return std::atomic_ref(*to).fetch_or(bits, std::memory_order_relaxed);
}
inline std::uint32_t atomicMax(std::uint32_t* to, std::uint32_t value) {
  const std::atomic_ref word(*to);
  std::uint32_t most = word.load(std::memory_order_relaxed);
  while (most < value && !word.compare_exchange_weak(most, value, std::memory_order_relaxed)) {
  }
  return most;
}

}  // namespace thinpipe::cuda::simulated

namespace thinpipe::cuda {
using namespace simulated;  // NOLINT(google-build-using-namespace): CUDA's names are global
}
// NOLINTEND(bugprone-reserved-identifier, cert-dcl37-c, cert-dcl51-cpp)

// After these functions.
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
