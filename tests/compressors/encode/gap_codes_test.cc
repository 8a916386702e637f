// Compares the codes of gaps with plain writers that write one bit at a time, and with the entropy,
// the lower bound of the codes' length.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "compressors/encode/position_codec.h"
#include "compressors/kernels/rice.h"
#include "tests/compressors/support/positions.h"
#include "tests/compressors/support/targets.h"

namespace thinpipe {
namespace {

using testing::decode;
using testing::encode;
using testing::Positions;
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
    const Positions positions = testing::positions_at(density, kElements, 1);
    const auto codec = make_golomb_codec();
    const std::size_t size = encode(*codec, positions, kElements).size();
    const double measured =
        8.0 * static_cast<double>(size - 1) / static_cast<double>(positions.size());
    // The standard deviation of the length of a gap's code is about 2 bits. So the mean of at least
    // 3900 gaps has a standard deviation of 0.03 bits. The limit is four standard deviations.
    EXPECT_NEAR(measured, codec->expected_bits(density), 0.13) << density;
    EXPECT_GT(codec->expected_bits(density), position_entropy_bits(density));
  }
}

// Elias codes, checked against their definition digit by digit.

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
  const Positions positions = {0, 2, 7};
  EXPECT_EQ(encode(*make_elias_gamma_codec(), positions, 8), bytes_of({0b11000101, 0b0}));
  EXPECT_EQ(encode(*make_elias_delta_codec(), positions, 8), bytes_of({0b11000101, 0b01}));
}

TEST(Elias, RefusesNumbersThatNoGapReaches) {
  constexpr std::size_t kMaxTensor = 4294967295;
  const auto by_gamma = make_elias_gamma_codec(), by_delta = make_elias_delta_codec();
  // 32 zeros, a one and 32 digits: 2^32 at least.
  SlowBits bits;
  gamma(bits, std::uint64_t{1} << 32);
  EXPECT_THROW(decode(*by_gamma, bits.bytes(), 1, kMaxTensor), PayloadError);
  SlowBits more;
  delta(more, std::uint64_t{1} << 32);
  EXPECT_THROW(decode(*by_delta, more.bytes(), 1, kMaxTensor), PayloadError);
  SlowBits most;  // the digits' number itself is out of range
  gamma(most, 1000);
  most.number(0, 32);
  EXPECT_THROW(decode(*by_delta, most.bytes(), 1, kMaxTensor), PayloadError);
  // The largest possible gap.
  SlowBits last;
  gamma(last, kMaxTensor);
  EXPECT_EQ(decode(*by_gamma, last.bytes(), 1, kMaxTensor), Positions{kMaxTensor - 1});
  EXPECT_THROW(decode(*by_gamma, last.bytes(), 1, kMaxTensor - 1), PayloadError);
}

TEST(Entropy, OfPositions) {
  // At p = 0.5 each element is a coin toss of one bit, and there are two elements for each sent
  // position. So each position costs two whole bits.
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

// Packed gaps, checked against a writer of one bit at a time.

std::vector<std::byte> packed_slowly(const Positions& positions) {
  const auto gaps = testing::gaps_of(positions);
  std::vector<std::byte> all;
  for (std::size_t first = 0; first < gaps.size(); first += 128) {
    const std::size_t end = std::min(gaps.size(), first + 128);
    const std::uint64_t largest =
        *std::max_element(gaps.begin() + static_cast<std::ptrdiff_t>(first),
                          gaps.begin() + static_cast<std::ptrdiff_t>(end)) -
        1;
    int width = 0;
    while (largest >= std::uint64_t{1} << width) ++width;
    SlowBits block;
    block.number(static_cast<std::uint64_t>(width), 8);
    for (std::size_t i = first; i < end; ++i) block.number(gaps[i] - 1, width);
    all.insert(all.end(), block.bytes().begin(), block.bytes().end());
  }
  return all;
}

TEST(Packed, BlocksAreAsWideAsTheirLargestGap) {
  const auto codec = make_position_codec("packed");
  for (const auto& test : testing::position_cases()) {
    SCOPED_TRACE(test.name());
    EXPECT_EQ(encode(*codec, test.positions, test.elements), packed_slowly(test.positions));
  }
}

TEST(Packed, AllElementsTakeAByteABlock) {
  Positions all(300);
  for (std::uint32_t i = 0; i < 300; ++i) all[i] = i;
  EXPECT_EQ(encode(*make_position_codec("packed"), all, 300), std::vector<std::byte>(3));
}

TEST(Packed, RefusesWhatNoWriterWrites) {
  const auto codec = make_position_codec("packed");
  testing::expect_refused(*codec, {33, 0, 0, 0, 0, 0}, 1, 10);  // wider than any gap
  testing::expect_refused(*codec, {4, 9, 0}, 1, 10);            // a byte left over
  testing::expect_refused(*codec, {4, 0x19}, 1, 10);            // a bit left over
  testing::expect_refused(*codec, {4, 10}, 1, 10);              // out of range
  testing::expect_refused(*codec, {4, 0x55}, 2, 10);            // 5, then 11
  testing::expect_refused(*codec, {32, 255, 255, 255}, 1, 10);  // truncated
  testing::expect_refused(*codec, {32, 255, 255, 255, 255}, 1, 4294967295U);
  // Wider than needed: any reader's right.
  EXPECT_EQ(decode(*codec, bytes_of({32, 9, 0, 0, 0}), 1, 10), Positions{9});
}

// Golomb-Rice codes, checked on every SIMD target against a writer and a reader that process one
// bit at a time.

std::vector<std::byte> rice_slowly(const Positions& positions, int bits) {
  SlowBits out;
  for (std::uint64_t gap : testing::gaps_of(positions)) {
    out.zeros_and_one((gap - 1) >> bits);
    out.number(gap - 1, bits);
  }
  return out.bytes();
}

/// Calls check(positions, bits, their codes) on every target, with parameters under which no code
/// is so long that the slow writer takes seconds.
template <class Check>
void for_each_rice(Check check) {
  testing::for_each_target([&] {
    for (const auto& test : testing::position_cases()) {
      for (int bits : {0, 1, 3, 6, 9, 13, 20, 27, 28, 31}) {
        if (test.elements >> bits > 4000000) continue;
        SCOPED_TRACE(test.name() + ", " + std::to_string(bits) + " bits");
        check(test.positions, bits, rice_slowly(test.positions, bits));
      }
    }
  });
}

TEST(Rice, WritesTheCodes) {
  for_each_rice([](const Positions& positions, int bits, const std::vector<std::byte>& expected) {
    std::vector<std::byte> bytes(expected.size());  // not a byte more than they take
    EXPECT_EQ(rice_encode(positions, bits, bytes), expected.size());
    ASSERT_TRUE(bytes == expected);
  });
}

TEST(Rice, ReadsAPrefixOfThem) {
  for_each_rice([](const Positions& positions, int bits, const std::vector<std::byte>& bytes) {
    const auto gaps = testing::gaps_of(positions);
    // From every of the first codes on, so that reading starts at every bit of a byte.
    RiceCursor start;
    for (std::size_t first = 0; first < std::min<std::size_t>(20, gaps.size()); ++first) {
      RiceCursor cursor = start;
      // The true mean, and wrong ones.
      const double mean = 8.0 * static_cast<double>(bytes.size()) /
                          static_cast<double>(gaps.size()) *
                          (first % 3 == 0 ? 1 : 0.3 * static_cast<double>(first));
      Positions read(gaps.size() - first);
      const std::size_t count = rice_decode(bytes, bits, mean, cursor, read);
      ASSERT_LE(count, read.size());
      std::uint64_t bit = start.bit;
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(read[i], positions[first + i]);
        bit += ((gaps[first + i] - 1) >> bits) + 1 + static_cast<std::uint64_t>(bits);
      }
      ASSERT_EQ(cursor.bit, bit);
      ASSERT_EQ(cursor.next, count == 0 ? start.next : read[count - 1] + std::uint64_t{1});
      start.bit += ((gaps[first] - 1) >> bits) + 1 + static_cast<std::uint64_t>(bits);
      start.next = std::uint64_t{positions[first]} + 1;
    }
  });
}

TEST(Rice, ReadsNearlyAllWhereCodesAreShort) {
  // The fast kernel must not stop early. At the density that matches its parameter, it reads all
  // codes except the last few and the rare groups that do not fit a word.
  testing::for_each_target([] {
    for (const auto& [density, bits] : {std::pair{0.1, 3}, {0.01, 6}, {0.001, 9}}) {
      const Positions positions = testing::positions_at(density, 4000000, 2);
      const auto bytes = rice_slowly(positions, bits);
      const double mean =
          8.0 * static_cast<double>(bytes.size()) / static_cast<double>(positions.size());
      RiceCursor cursor;
      std::size_t calls = 0;
      std::size_t read = 0;
      Positions out(positions.size());
      for (; read < positions.size(); ++calls) {
        read += rice_decode(bytes, bits, mean, cursor, std::span(out).subspan(read));
        if (positions.size() - read < 64) break;
        const std::uint64_t zeros = positions[read] - cursor.next;  // one over the obstacle
        cursor.bit += (zeros >> bits) + 1 + static_cast<std::uint64_t>(bits);
        cursor.next = std::uint64_t{positions[read]} + 1;
        out[read] = positions[read];
        ++read;
      }
      EXPECT_LT(calls, 2 + positions.size() / 100) << density;
      out.resize(read);
      EXPECT_TRUE(std::equal(out.begin(), out.end(), positions.begin())) << density;
    }
  });
}

}  // namespace

}  // namespace thinpipe
