#include "compressors/kernels/bit_count.h"

#include <gtest/gtest.h>

#include <vector>

#include "compressors/random.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

TEST(BitCount, SameAsBitByBit) {
  SplitMix64 random(1);
  testing::for_each_target([&] {
    for (std::size_t n : {0UL, 1UL, 7UL, 8UL, 9UL, 1000UL}) {
      std::vector<std::uint64_t> words(n);
      for (std::uint64_t& word : words) word = random.next();
      if (n > 1) words[1] = ~std::uint64_t{0};
      std::size_t count = 0;
      for (std::uint64_t word : words) {
        for (int bit = 0; bit < 64; ++bit) count += word >> bit & 1;
      }
      EXPECT_EQ(count_bits(words), count);
    }
  });
}

}  // namespace
}  // namespace thinpipe
