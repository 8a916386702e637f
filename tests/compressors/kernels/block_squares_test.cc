#include "compressors/kernels/block_squares.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <vector>

#include "compressors/kernels/moments.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::for_each_target;

void expect_sums_of_each(const std::vector<float>& x, std::size_t block) {
  std::vector<double> sums((x.size() + block - 1) / block, -1);
  sums_of_squares(x, block, sums);
  for (std::size_t b = 0; b < sums.size(); ++b) {
    const std::span<const float> own = std::span(x).subspan(b * block);
    EXPECT_EQ(std::bit_cast<std::uint64_t>(sums[b]),
              std::bit_cast<std::uint64_t>(sum_of_squares(own.first(std::min(block, own.size())))))
        << "block " << b << " of " << block << ", of " << x.size() << " elements";
  }
}

// 64 elements are a row of four streams, 8192 the last that need no flush; 8 blocks go together.
TEST(BlockSquares, AreThoseOfEachBlockToTheBit) {
  for_each_target([] {
    for (const std::size_t block : {1UL, 32UL, 64UL, 100UL, 2048UL, 8192UL, 16384UL}) {
      for (const std::size_t blocks : {0UL, 1UL, 7UL, 8UL, 9UL, 17UL}) {
        expect_sums_of_each(testing::heavy(blocks * block, blocks), block);
        expect_sums_of_each(testing::heavy(blocks * block + (block + 1) / 2, blocks), block);
      }
    }
  });
}

TEST(BlockSquares, OfHugeAndTinyValuesToo) {
  std::vector<float> x = testing::heavy(8 * 2048, 3);
  x[5] = std::numeric_limits<float>::max();
  x[2048] = std::numeric_limits<float>::denorm_min();
  x[3 * 2048 + 70] = std::numeric_limits<float>::infinity();
  for_each_target([&] { expect_sums_of_each(x, 2048); });
}

}  // namespace
}  // namespace thinpipe
