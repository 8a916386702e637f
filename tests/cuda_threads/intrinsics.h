// The parts of CUDA C++ that CudaBlock uses, for simulated threads. Include only before
// cuda_block.cuh.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "compressors/cuda/grid/warp.h"
#include "tests/cuda_threads/grid.h"

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
template <class T>
T __reduce_max_sync(unsigned /*lanes*/, T x) {
  const std::uint32_t* const values =
      Grid::exchange(Together::kMax, std::bit_cast<std::uint32_t>(x));
  T most = std::bit_cast<T>(values[0]);
  for (int lane = 1; lane < kWarpThreads; ++lane)
    most = std::max(most, std::bit_cast<T>(values[lane]));
  return most;
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
