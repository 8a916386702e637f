#include "compressors/encode/golomb.h"

#include <gtest/gtest.h>

#include "compressors/encode/entropy.h"
#include "compressors/encode/position_codec.h"
#include "compressors/random.h"

namespace thinpipe {
namespace {

TEST(Golomb, ParameterAndMeanLengthAtOnePercent) {
  // SBC eq. 5 at p = 0.01: ln(0.618) / ln(0.99) = 47.88, log2 = 5.58, b = 6; mean length
  // 6 + 1 / (1 - 0.99^64) = 6 + 2.108 = 8.108 bits. The paper prints 8.38, the value at b = 7.
  EXPECT_EQ(golomb_bits(0.01), 6);
  EXPECT_NEAR(golomb_mean_bits(0.01, 6), 8.108, 0.001);
  EXPECT_NEAR(golomb_mean_bits(0.01, 7), 8.38, 0.005);
}

TEST(Golomb, ParameterAtOtherDensities) {
  EXPECT_EQ(golomb_bits(0.1), 3);    // 4.567 -> log2 2.19
  EXPECT_EQ(golomb_bits(0.001), 9);  // 480.97 -> log2 8.91
  EXPECT_EQ(golomb_bits(1), 0);
  EXPECT_EQ(golomb_bits(0.9), 0);  // 0.209 -> log2 -2.26: no remainder
  EXPECT_EQ(golomb_bits(1e-12), kMaxGolombBits);
  EXPECT_NEAR(golomb_mean_bits(0.1, 3), 4.756, 0.001);
  EXPECT_NEAR(golomb_mean_bits(0.001, 9), 11.495, 0.001);
}

TEST(Golomb, MeasuredMeanLengthAgreesWithTheFormula) {
  for (double density : {0.1, 0.01, 0.001}) {
    constexpr std::size_t kElements = 4000000;
    SplitMix64 random(1);
    std::vector<std::uint32_t> positions;
    for (std::uint32_t i = 0; i < kElements; ++i) {
      if (static_cast<double>(random.next()) < density * 0x1p64) positions.push_back(i);
    }
    const auto codec = make_golomb_codec();
    std::vector<std::byte> bytes(codec->max_size(positions.size(), kElements));
    ByteWriter out(bytes);
    codec->encode(positions, kElements, out);
    const double measured =
        8.0 * static_cast<double>(out.size() - 1) / static_cast<double>(positions.size());
    // The standard deviation of a gap's length is about 2 bits: the mean of at least 3900 gaps is
    // within 0.03 bits, here with four deviations.
    EXPECT_NEAR(measured, codec->expected_bits(density), 0.13) << density;
    EXPECT_GT(codec->expected_bits(density), position_entropy_bits(density));
  }
}

}  // namespace
}  // namespace thinpipe
