#include "compressors/encode/entropy.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compressors/encode/golomb.h"

namespace thinpipe {
namespace {

TEST(Entropy, OfPositions) {
  // At p = 0.5 each position costs two whole bits: the one bit a coin toss has, twice.
  EXPECT_DOUBLE_EQ(position_entropy_bits(0.5), 2);
  EXPECT_EQ(position_entropy_bits(1), 0);
  // H(p)/p = (-p log2 p - (1-p) log2(1-p)) / p, by hand at p = 0.1: (0.33219 + 0.13680) / 0.1.
  EXPECT_NEAR(position_entropy_bits(0.1), 4.690, 0.0005);
  EXPECT_NEAR(position_entropy_bits(0.01), 8.079, 0.0005);
  EXPECT_NEAR(position_entropy_bits(0.001), 11.408, 0.0005);
  // For small p: log2(e / p).
  EXPECT_NEAR(position_entropy_bits(1e-12), std::log2(std::exp(1.0) / 1e-12), 1e-9);
}

TEST(Entropy, IsBelowGolombByLittle) {
  // The best of the Golomb-Rice codes costs at most 4 % more.
  for (double density = 0.3; density > 1e-8; density *= 0.9) {
    const double bound = position_entropy_bits(density);
    const double golomb = golomb_mean_bits(density, golomb_bits(density));
    EXPECT_GT(golomb, bound) << density;
    EXPECT_LT(golomb, bound * 1.04) << density;
  }
}

}  // namespace
}  // namespace thinpipe
