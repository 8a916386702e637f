// Work on several threads, and the buffers that it works on.
#include "compressors/kernels/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "compressors/kernels/buffer.h"

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

std::size_t address(const void* memory) { return reinterpret_cast<std::uintptr_t>(memory); }

TEST(Buffer, BeginsWithALineOrAHugePage) {
  for (std::size_t size : {1UL, 17UL, 1000000UL}) {
    const Buffer<std::byte> buffer(size);
    EXPECT_EQ(buffer.size(), size);
    EXPECT_EQ(address(buffer.data()) % BufferMemory::kLine, 0U);
  }
  Buffer<float> large(3 * BufferMemory::kHugePage / sizeof(float));
  EXPECT_EQ(address(large.data()) % BufferMemory::kHugePage, 0U);
  large[large.size() - 1] = 3;
  const Buffer<float> moved = std::move(large);
  EXPECT_EQ(moved[moved.size() - 1], 3);
  EXPECT_EQ(Buffer<float>().first(0).size(), 0U);
}

TEST(LargeVector, IsFilledAndGrows) {
  LargeVector<float> values(2 * BufferMemory::kHugePage / sizeof(float), 1.5F);
  EXPECT_EQ(address(values.data()) % BufferMemory::kHugePage, 0U);
  values.push_back(2);
  EXPECT_EQ(values.front(), 1.5F);
  EXPECT_EQ(values.back(), 2);
}

}  // namespace

}  // namespace thinpipe
