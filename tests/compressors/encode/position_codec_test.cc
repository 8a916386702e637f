// The contract of all position codecs, and the output of those of fixed size.
#include "compressors/encode/position_codec.h"

#include <gtest/gtest.h>

#include "tests/base/support.h"
#include "tests/compressors/support/methods.h"
#include "tests/compressors/support/positions.h"

namespace thinpipe {
namespace {

using testing::decode;
using testing::encode;
using testing::expect_refused;
using testing::position_cases;
using testing::PositionCase;
using testing::Positions;
using testing::random_positions;

constexpr std::size_t kMaxIndices = std::size_t{1} << 28;

TEST(Index28, IsTwentyEightBitsAPosition) {
  const auto codec = make_position_codec("index28");
  for (const auto& test : position_cases(kMaxIndices)) {
    SCOPED_TRACE(test.name());
    testing::SlowBits expected;
    for (std::uint32_t position : test.positions) expected.number(position, 28);
    const auto bytes = encode(*codec, test.positions, test.elements);
    EXPECT_EQ(bytes, expected.bytes());
    EXPECT_EQ(decode(*codec, bytes, test.positions.size(), test.elements), test.positions);
  }
}

TEST(Index28, RefusesTensorsThatItCannotAddress) {
  const auto codec = make_position_codec("index28");
  EXPECT_NO_THROW(codec->max_size(1, kMaxIndices));
  EXPECT_THROW(codec->max_size(1, kMaxIndices + 1), InputError);
  std::vector<std::byte> room(16);
  ByteWriter out(room);
  EXPECT_THROW(codec->encode(testing::Positions{1}, kMaxIndices + 1, out), InputError);
  EXPECT_THROW(codec->start(ByteReader(room), 1, kMaxIndices + 1), InputError);
}

TEST(Index28, RefusesDisorder) {
  const auto codec = make_position_codec("index28");
  for (const Positions& wrong : {Positions{5, 5}, Positions{5, 4}, Positions{5, 10}}) {
    const auto bytes = encode(*codec, wrong, 11);  // the writer does not look
    EXPECT_THROW(decode(*codec, bytes, 2, 10), PayloadError);
  }
}

// The bitmap, checked against a list of booleans.

/// The most elements that every codec takes and whose bitmap is small.
constexpr std::size_t kMaxElements = 4000000;

TEST(Bitmap, IsOneBitAnElement) {
  const auto codec = make_position_codec("bitmap");
  for (const auto& test : position_cases(kMaxElements)) {
    SCOPED_TRACE(test.name());
    std::vector<bool> selected(test.elements);
    for (std::uint32_t position : test.positions) selected[position] = true;
    testing::SlowBits expected;
    for (bool one : selected) expected.bit(one);
    EXPECT_EQ(encode(*codec, test.positions, test.elements), expected.bytes());
    EXPECT_EQ(expected.bytes().size(), codec->max_size(test.positions.size(), test.elements));
  }
}

TEST(Bitmap, RefusesAnotherNumberOfOnes) {
  const auto codec = make_position_codec("bitmap");
  for (std::size_t elements : {7UL, 8UL, 64UL, 65UL, 1000UL}) {
    for (std::size_t count : {1UL, 3UL, 7UL}) {
      const auto positions = random_positions(count, elements, 1);
      const auto bytes = encode(*codec, positions, elements);
      EXPECT_EQ(decode(*codec, bytes, count, elements), positions);
      EXPECT_THROW(decode(*codec, bytes, count - 1, elements), PayloadError);
      EXPECT_THROW(decode(*codec, bytes, count + 1, elements), PayloadError);
    }
  }
}

TEST(Bitmap, RefusesAOneAfterTheLastElement) {
  const auto codec = make_position_codec("bitmap");
  const auto bytes = bytes_of({0b00001001});
  EXPECT_EQ(decode(*codec, bytes, 2, 4), (testing::Positions{0, 3}));
  EXPECT_THROW(decode(*codec, bytes, 2, 3), PayloadError);
  EXPECT_THROW(decode(*codec, bytes, 1, 3), PayloadError);
}

TEST(PositionCodec, RoundTrip) {
  for (const std::string& name : position_codec_names()) {
    SCOPED_TRACE(name);
    const auto codec = make_position_codec(name);
    const bool any_tensor = name != "bitmap" && name != "index28";
    for (const PositionCase& test : any_tensor ? position_cases() : position_cases(kMaxElements)) {
      SCOPED_TRACE(test.name());
      const auto bytes = encode(*codec, test.positions, test.elements);
      EXPECT_EQ(decode(*codec, bytes, test.positions.size(), test.elements), test.positions);
    }
  }
}

TEST(PositionCodec, ExpectedBitsAreWhatIsMeasured) {
  for (double density : {0.5, 0.1, 0.01, 0.001}) {
    constexpr std::size_t kElements = 2000000;
    const Positions positions = testing::positions_at(density, kElements, 1);
    const double share = static_cast<double>(positions.size()) / kElements;
    for (const std::string& name : position_codec_names()) {
      const auto codec = make_position_codec(name);
      const double measured = 8.0 *
                              static_cast<double>(encode(*codec, positions, kElements).size()) /
                              static_cast<double>(positions.size());
      // 2000 positions at least: a mean whose relative deviation is under 0.5 / sqrt(2000) = 1.1 %.
      EXPECT_NEAR(measured / codec->expected_bits(share), 1, 0.03) << name << " at " << density;
      // Independent positions are what the entropy bounds.
      EXPECT_GT(measured, position_entropy_bits(share) * 0.99) << name << " at " << density;
    }
  }
}

TEST(PositionCodec, BoundHoldsForFewerPositionsInAnyPlace) {
  constexpr std::size_t kElements = 3000;
  for (const std::string& name : position_codec_names()) {
    const auto codec = make_position_codec(name);
    for (std::size_t most : {1UL, 5UL, 100UL, 1500UL, kElements}) {
      const std::size_t bound = codec->max_size(most, kElements);
      for (std::size_t count = 0; count <= most; count = count * 5 / 4 + 1) {
        // At random; all at the end, where the first gap is longest; and evenly spread, where gaps'
        // logarithms sum to most.
        Positions last(count), even(count);
        for (std::size_t i = 0; i < count; ++i) {
          last[i] = static_cast<std::uint32_t>(kElements - count + i);
          even[i] = static_cast<std::uint32_t>((i + 1) * kElements / count - 1);
        }
        for (const Positions& positions : {random_positions(count, kElements, count), last, even}) {
          std::vector<std::byte> bytes(bound);  // the writers assert that they stay within
          ByteWriter out(bytes);
          codec->encode(positions, kElements, out);
          EXPECT_LE(out.size(), bound) << name << " " << count << " of at most " << most;
        }
      }
    }
  }
}

TEST(PositionCodec, Layouts) {
  // Gaps of zeros: 2, 0, 3.
  const Positions positions = {2, 3, 7};
  const auto raw = encode(*make_position_codec("raw32"), positions, 10);
  EXPECT_EQ(raw.size(), 12U);
  EXPECT_EQ(static_cast<int>(raw[8]), 7);
  const auto run = encode(*make_position_codec("run16"), positions, 10);
  EXPECT_EQ(run, bytes_of({2, 0, 0, 0, 3, 0}));
  // Density 0.3: ln(0.618) / ln(0.7) = 1.349, b = 1 + floor(0.43) = 1. Codes of gaps with 2, 0 and
  // 3 zeros, lowest bit first: 2 = quotient 1, remainder 0: 01 0; 0: 1 0; 3 = quotient 1, remainder
  // 1: 01 1.
  const auto golomb = encode(*make_golomb_codec(), positions, 10);
  EXPECT_EQ(golomb, bytes_of({1, 0b11001010}));
}

TEST(PositionCodec, LongRunsAreSplit) {
  // 131071 zeros = 65535 + 65535 + 1.
  const auto bytes = encode(*make_position_codec("run16"), {131071}, 200000);
  EXPECT_EQ(bytes.size(), 6U);
  EXPECT_EQ(static_cast<int>(bytes[0]) & static_cast<int>(bytes[3]), 0xff);
  EXPECT_EQ(static_cast<int>(bytes[4]), 1);
}

TEST(PositionCodec, RefusesWhatIsNotAListOfPositions) {
  for (const std::string& name : position_codec_names()) {
    const auto codec = make_position_codec(name);
    expect_refused(*codec, {}, 1, 10);
    expect_refused(*codec, {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 1, 10);
    expect_refused(*codec, {0, 0, 0, 0, 0}, 0, 10);
  }
  const auto raw = make_position_codec("raw32");
  expect_refused(*raw, {5, 0, 0, 0, 5, 0, 0, 0}, 2, 10);  // the same twice
  expect_refused(*raw, {5, 0, 0, 0, 4, 0, 0, 0}, 2, 10);  // descending
  expect_refused(*raw, {10, 0, 0, 0}, 1, 10);             // out of range
  expect_refused(*raw, {5, 0, 0}, 1, 10);                 // truncated
  expect_refused(*raw, {5, 0, 0, 0, 6, 0, 0, 0}, 1, 10);  // too long
  const auto run = make_position_codec("run16");
  expect_refused(*run, {10, 0}, 1, 10);
  expect_refused(*run, {0xff, 0xff}, 1, 100000);  // a split run without its end
  expect_refused(*run, {0xff, 0xff, 0xff, 0xff, 0, 0}, 1, 100000);
  expect_refused(*run, {1, 0, 1, 0}, 1, 10);
  const auto golomb = make_golomb_codec();
  expect_refused(*golomb, {}, 1, 10);
  expect_refused(*golomb, {32, 1}, 1, 10);         // parameter out of range
  expect_refused(*golomb, {0, 0, 0}, 1, 100);      // no end of the unary part
  expect_refused(*golomb, {0, 0b11}, 1, 10);       // one position, a bit left over
  expect_refused(*golomb, {0, 1, 0}, 1, 10);       // a byte left over
  expect_refused(*golomb, {0, 0, 0b1000}, 1, 10);  // position 11
  expect_refused(*golomb, {1}, 0, 10);             // no positions, no bytes
  EXPECT_THROW(make_position_codec("bitmap9"), InputError);
}

}  // namespace
}  // namespace thinpipe
