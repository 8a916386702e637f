#include "compressors/kernels/hadamard.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "compressors/kernels/buffer.h"
#include "tests/compressors/support/bits.h"
#include "tests/compressors/support/inputs.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

struct Aligned {
  alignas(64) float x[4096];
};

TEST(Hadamard, IsTheMatrixOverTheRootOfItsSize) {
  // H[i][j] = (-1)^(bits common to i and j).
  testing::for_each_target([] {
    for (std::size_t n : {16UL, 32UL, 64UL, 128UL, 256UL, 512UL, 2048UL}) {
      const auto input = testing::bell(n, n);
      Aligned work;
      std::copy(input.begin(), input.end(), work.x);
      hadamard({work.x, n});
      for (std::size_t i = 0; i < n; ++i) {
        double expected = 0;
        for (std::size_t j = 0; j < n; ++j) {
          expected += (std::popcount(i & j) % 2 == 0 ? 1.0 : -1.0) * static_cast<double>(input[j]);
        }
        ASSERT_NEAR(static_cast<double>(work.x[i]), expected / std::sqrt(static_cast<double>(n)),
                    1e-5);
      }
    }
  });
}

TEST(Hadamard, KeepsTheNormAndIsItsOwnInverse) {
  for (std::size_t n : {16UL, 1024UL, 4096UL}) {
    const auto input = testing::heavy(n, n);
    Aligned work;
    std::copy(input.begin(), input.end(), work.x);
    hadamard({work.x, n});
    double before = 0;
    double after = 0;
    double most = 0;
    for (std::size_t i = 0; i < n; ++i) {
      before += std::pow(static_cast<double>(input[i]), 2);
      after += std::pow(static_cast<double>(work.x[i]), 2);
    }
    EXPECT_NEAR(after, before, 1e-5 * before);
    hadamard({work.x, n});
    for (std::size_t i = 0; i < n; ++i) {
      most = std::max(most, std::fabs(static_cast<double>(work.x[i] - input[i])));
    }
    EXPECT_LT(most, 1e-6 * std::sqrt(before));
  }
}

TEST(Hadamard, SameBitsOnEveryTarget) {
  const auto input = testing::heavy(2048, 1);
  std::vector<std::vector<std::uint32_t>> results;
  testing::for_each_target([&] {
    Aligned work;
    std::copy(input.begin(), input.end(), work.x);
    hadamard({work.x, 2048});
    results.push_back(testing::bits({work.x, 2048}));
  });
  for (const auto& result : results) EXPECT_EQ(result, results[0]);
}

TEST(Hadamard, SignsAreAgreedAndBalanced) {
  std::vector<std::uint32_t> a(2048);
  std::vector<std::uint32_t> b(2048);
  std::vector<std::uint32_t> other(2048);
  random_signs(5, a);
  random_signs(5, b);
  random_signs(6, other);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, other);
  int negative = 0;
  for (std::uint32_t word : a) {
    ASSERT_EQ(word & 0x7fffffffU, 0U);
    negative += word != 0 ? 1 : 0;
  }
  EXPECT_NEAR(negative, 1024, 5 * std::sqrt(2048 / 4.0));
}

}  // namespace
}  // namespace thinpipe
