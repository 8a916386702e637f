#include "compressors/kernels/buffer.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace thinpipe {
namespace {

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
