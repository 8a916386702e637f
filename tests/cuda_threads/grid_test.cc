// Simulated GPU threads, and CudaBlock on them.
#include "tests/cuda_threads/grid.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "base/splitmix64.h"
#include "tests/cuda_threads/threads_device.h"

namespace thinpipe::cuda {
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

}  // namespace
}  // namespace thinpipe::cuda
