// Elias codes, held to their definition digit by digit.
#include <gtest/gtest.h>

#include "tests/compressors/support/positions.h"

namespace thinpipe {
namespace {

using testing::decode;
using testing::encode;
using testing::SlowBits;

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

}  // namespace
}  // namespace thinpipe
