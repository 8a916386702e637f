// Golomb-Rice and Elias codes, and the entropy that bounds them.
#include "compressors/encode/gap_codes.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compressors/encode/position_codec.h"
#include "compressors/kernels/random.h"
#include "tests/compressors/support/positions.h"

namespace thinpipe {
namespace {

using testing::decode;
using testing::encode;
using testing::SlowBits;

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

// Elias codes, held to their definition digit by digit.

/// Binary digits after the leading one.
int digits(std::uint64_t n) {
  int count = 0;
  for (; n > 1; n /= 2) ++count;
  return count;
}
std::uint64_t rest(std::uint64_t n) {
  std::uint64_t leading = 1;
  while (leading <= n / 2) leading *= 2;
  return n - leading;
}
void gamma(SlowBits& out, std::uint64_t n) {
  out.zeros_and_one(static_cast<std::uint64_t>(digits(n)));
  out.number(rest(n), digits(n));
}
void delta(SlowBits& out, std::uint64_t n) {
  gamma(out, static_cast<std::uint64_t>(digits(n)) + 1);
  out.number(rest(n), digits(n));
}

TEST(Elias, CodesAreTheirDefinition) {
  for (const auto& test : testing::position_cases()) {
    SCOPED_TRACE(test.name());
    SlowBits expected_gamma;
    SlowBits expected_delta;
    for (std::uint64_t gap : testing::gaps_of(test.positions)) {
      gamma(expected_gamma, gap);
      delta(expected_delta, gap);
    }
    EXPECT_EQ(encode(*make_elias_gamma_codec(), test.positions, test.elements),
              expected_gamma.bytes());
    EXPECT_EQ(encode(*make_elias_delta_codec(), test.positions, test.elements),
              expected_delta.bytes());
  }
}

TEST(Elias, ByHand) {
  // Gaps 1, 2, 5. Gamma: 1; 0 1 0; 00 1 10 (5 = 101, its low digits 01, lowest first 1 0).
  // Delta: gamma(1) = 1; gamma(2) 0 = 010 0; gamma(3) 10 = 011 10. Lowest bit of a byte first.
  const testing::Positions positions = {0, 2, 7};
  EXPECT_EQ(encode(*make_elias_gamma_codec(), positions, 8),
            (std::vector<std::byte>{std::byte{0b11000101}, std::byte{0b0}}));
  EXPECT_EQ(encode(*make_elias_delta_codec(), positions, 8),
            (std::vector<std::byte>{std::byte{0b11000101}, std::byte{0b01}}));
}

TEST(Elias, RefusesNumbersThatNoGapReaches) {
  // 32 zeros, a one and 32 digits: 2^32 at least.
  SlowBits bits;
  gamma(bits, std::uint64_t{1} << 32);
  EXPECT_THROW(decode(*make_elias_gamma_codec(), bits.bytes(), 1, 4294967295U), PayloadError);
  SlowBits more;
  delta(more, std::uint64_t{1} << 32);
  EXPECT_THROW(decode(*make_elias_delta_codec(), more.bytes(), 1, 4294967295U), PayloadError);
  SlowBits most;  // the digits' number itself is out of range
  gamma(most, 1000);
  most.number(0, 32);
  EXPECT_THROW(decode(*make_elias_delta_codec(), most.bytes(), 1, 4294967295U), PayloadError);
  // The largest gap that there is.
  SlowBits last;
  gamma(last, 4294967295U);
  EXPECT_EQ(decode(*make_elias_gamma_codec(), last.bytes(), 1, 4294967295U),
            testing::Positions{4294967294U});
  EXPECT_THROW(decode(*make_elias_gamma_codec(), last.bytes(), 1, 4294967294U), PayloadError);
}

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
