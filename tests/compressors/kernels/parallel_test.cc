#include "compressors/kernels/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace thinpipe {
namespace {

TEST(Parallel, EveryPartRunsOnce) {
  for (int threads : {1, 2, 3, 8}) {
    for (std::size_t parts : {0UL, 1UL, 2UL, 7UL, 64UL}) {
      for (int round = 0; round < 20; ++round) {
        std::vector<std::atomic<int>> runs(parts);
        parallel_parts(parts, threads, [&](std::size_t part) { ++runs[part]; });
        for (const auto& count : runs) EXPECT_EQ(count.load(), 1);
      }
    }
  }
}

TEST(Parallel, PassesOfTwoThreadsAtOnceBothEnd) {
  std::atomic<int> sum = 0;
  const auto work = [&] {
    for (int i = 0; i < 200; ++i) parallel_parts(5, 3, [&](std::size_t) { ++sum; });
  };
  std::thread other(work);
  work();
  other.join();
  EXPECT_EQ(sum.load(), 2 * 200 * 5);
}

TEST(Parallel, CopiesOfApartAndOfOverlappingBytes) {
  const UseThreads use(3);
  for (std::size_t n : {0UL, 1UL, 100UL, 3 * kMinParallel + 7}) {
    std::vector<unsigned char> from(2 * n + 1), to(n);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<unsigned char>(i * 7 >> 3);
    copy_bytes(to.data(), from.data() + 1, n);
    EXPECT_TRUE(std::equal(to.begin(), to.end(), from.begin() + 1));
    auto moved = from;
    copy_bytes(moved.data(), moved.data() + n / 3, n);  // overlapping
    EXPECT_TRUE(std::equal(moved.begin(), moved.begin() + static_cast<std::ptrdiff_t>(n),
                           from.begin() + static_cast<std::ptrdiff_t>(n / 3)));
  }
}

TEST(Parallel, ThreadsAreTheInnermostScopes) {
  EXPECT_EQ(current_threads(), 1);
  {
    const UseThreads three(3);
    EXPECT_EQ(current_threads(), 3);
    EXPECT_EQ(threads_for(kMinParallel), 3);
    EXPECT_EQ(threads_for(kMinParallel - 1), 1);
    {
      const UseThreads none(0);
      EXPECT_EQ(current_threads(), 1);
    }
    EXPECT_EQ(current_threads(), 3);
  }
  EXPECT_EQ(current_threads(), 1);
}

}  // namespace
}  // namespace thinpipe
