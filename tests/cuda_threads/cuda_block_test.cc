// CudaBlock, the block type of real GPUs, on a simulated GPU with every thread on its own stack:
// the simulated threads themselves, operations of a block, and GPU compressors.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/splitmix64.h"
#include "compressors/cuda/grid/host_device.h"
#include "compressors/cuda/kernels/prefix.h"
#include "compressors/cuda/make.h"
#include "tests/cuda/side_by_side.h"
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

namespace {

constexpr int kThreads = 96;

TEST(Grid, AllThreadsOfAllBlocksRunOnce) {
  for (const unsigned blocks : {0U, 1U, 7U, 200U}) {
    std::vector<int> ran(blocks * kThreads);
    simulated::Grid grid(blocks);
    grid.run(blocks, kThreads, 8, [&](std::byte* /*shared*/) {
      ++ran[simulated::Grid::block() * kThreads + simulated::Grid::thread()];
    });
    EXPECT_EQ(ran, std::vector<int>(blocks * kThreads, 1));
  }
}

TEST(Grid, NoThreadPassesABarrierAlone) {
  simulated::Grid grid(1);
  grid.run(5, kThreads, sizeof(std::uint32_t), [](std::byte* shared) {
    std::uint32_t& arrived = *reinterpret_cast<std::uint32_t*>(shared);
    if (simulated::Grid::thread() == 0) arrived = 0;
    simulated::Grid::wait();
    for (int round = 1; round <= 3; ++round) {
      atomicAdd(&arrived, 1);
      simulated::Grid::wait();
      EXPECT_EQ(arrived, static_cast<std::uint32_t>(round * kThreads));
      simulated::Grid::wait();
    }
  });
}

TEST(Grid, WaitingForEndedThreadsIsABug) {
  simulated::Grid grid(1);
  const auto some_wait = [](std::byte* /*shared*/) {
    if (simulated::Grid::thread() != 3) simulated::Grid::wait();
  };
  EXPECT_THROW(grid.run(2, kThreads, 8, some_wait), std::logic_error);
}

TEST(Grid, DifferentWarpOperationsInOneWarpAreABug) {
  simulated::Grid grid(1);
  const auto differ = [](std::byte* /*shared*/) {
    using simulated::Together;
    const bool odd = simulated::Grid::thread() % 2 == 1;
    simulated::Grid::exchange(odd ? Together::kBallot : Together::kSum, 1);
  };
  EXPECT_THROW(grid.run(1, kThreads, 8, differ), std::logic_error);
}

// Block-wide and grid-wide operations, compared with plain loops below.
struct AllTogether {
  static constexpr int kThreads = 96;
  struct Shared {};
  const std::uint32_t* in;
  std::uint32_t *sums, *greatest, *before_thread, *before_tile, *greatest_before, *last;
  PrefixState *sum_states, *greatest_states;
  std::uint32_t* arrived;
  std::uint32_t blocks;

  template <class Block>
  void operator()(Block& block, Shared& /*shared*/) const {
    typename Block::template Local<std::uint32_t> x, y, z;
    const std::uint32_t tile = block.index();
    block.each([&](int t) {
      x[t] = in[tile * kThreads + static_cast<unsigned>(t)];
      y[t] = x[t];
      z[t] = x[t];
    });
    const std::uint32_t sum = block.sum(x);
    const std::uint32_t most = block.greatest(y);
    const std::uint32_t all = block.prefix(z);
    const Counts counts = block.before(sum_states, tile, {sum, 1});
    const Counts greater = block.template before<Joined::kMax>(greatest_states, tile, {most, tile});
    block.each([&](int t) {
      const std::uint32_t i = tile * kThreads + static_cast<unsigned>(t);
      sums[i] = sum == all ? sum : 0;
      greatest[i] = most;
      before_thread[i] = z[t];
      before_tile[i] = counts.second == tile ? counts.first : ~0U;
      greatest_before[i] = greater.first;
    });
    if (!block.is_last(arrived, blocks)) return;
    block.each([&](int t) {
      if (t > 0) return;
      std::uint32_t total = 0;
      for (std::uint32_t i = 0; i < blocks; ++i) total += sums[i * kThreads];
      *last += total;
    });
  }
};

TEST(CudaBlock, DoesWhatPlainLoopsDo) {
  // The largest grid has more blocks than a warp examines in one step of a look-back, so that
  // look-backs take several steps.
  for (const std::uint32_t blocks : {1U, 2U, 31U, 33U, 300U}) {
    const std::size_t n = std::size_t{blocks} * AllTogether::kThreads;
    SplitMix64 random(blocks);
    std::vector<std::uint32_t> in(n), sums(n), greatest(n), before_thread(n), before_tile(n),
        greatest_before(n);
    for (std::uint32_t& one : in) one = static_cast<std::uint32_t>(random.below(1000));
    std::uint32_t total = 0, arrived = 0;
    for (std::uint64_t seed = 0; seed < 5; ++seed) {
      std::vector<PrefixState> sum_states(blocks), greatest_states(blocks);
      ThreadsSimulator simulator(seed);
      total = 0;
      simulator.run(AllTogether{in.data(), sums.data(), greatest.data(), before_thread.data(),
                                before_tile.data(), greatest_before.data(), &total,
                                sum_states.data(), greatest_states.data(), &arrived, blocks},
                    blocks);
      EXPECT_EQ(total, std::accumulate(in.begin(), in.end(), 0U));
      EXPECT_EQ(arrived, 0U);
      std::uint32_t before = 0, most_before = 0;
      for (std::uint32_t tile = 0; tile < blocks; ++tile) {
        std::uint32_t within = 0, most = 0;
        const std::size_t first = std::size_t{tile} * AllTogether::kThreads;
        for (std::size_t i = first; i < first + AllTogether::kThreads; ++i) {
          ASSERT_EQ(before_thread[i], within) << i;
          within += in[i];
          most = std::max(most, in[i]);
        }
        for (std::size_t i = first; i < first + AllTogether::kThreads; ++i) {
          ASSERT_EQ(sums[i], within);
          ASSERT_EQ(greatest[i], most);
          ASSERT_EQ(before_tile[i], before) << tile;
          ASSERT_EQ(greatest_before[i], most_before) << tile;
        }
        before += within;
        most_before = std::max(most_before, most);
      }
    }
  }
}

// GPU compressors on CudaBlock, with simulated threads.

TestDevice threads(std::uint64_t seed) {
  const auto device = std::make_shared<ThreadsDevice>(seed);
  return {.device = device, .make = maker_on(device)};
}

class Threads : public ::testing::TestWithParam<std::string> {};

TEST_P(Threads, SendAndKeepTheSame) {
  // Several tiles, and less than a warp.
  std::vector<std::size_t> sizes = {4097, 65, 0, 1};
#ifndef __SANITIZE_THREAD__  // with it, tests take eight times as long
  // Several blocks of sums, which take most of the time; serial_test.cc has them for every spec.
  const std::vector<std::string> specs = gpu_specs();
  if ((std::find(specs.begin(), specs.end(), GetParam()) - specs.begin()) % 4 == 0)
    sizes.push_back(33000);
#endif
  SideBySide both(threads(7), GetParam(), sizes);
  for (std::uint64_t step = 0; step < 3; ++step) {
    std::vector<std::vector<float>> gradients = drawn(sizes, 10 * step);
    if (step == 2) gradients[0][17] = std::numeric_limits<float>::infinity();
    both.step(gradients);
  }
}

INSTANTIATE_TEST_SUITE_P(SideBySide, Threads, ::testing::ValuesIn(gpu_specs()));

// Simulated threads are slow.
TEST(OnThreadsDevice, SendTheSameOfMatrices) { expect_same_bytes_of_matrices(threads, 2); }
TEST(OnThreadsDevice, SendTheSameInRounds) { expect_same_bytes_in_rounds(threads); }

}  // namespace
}  // namespace thinpipe::cuda
