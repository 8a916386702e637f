#include "compressors/encode/position_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compressors/random.h"

namespace thinpipe {
namespace {

using Positions = std::vector<std::uint32_t>;

Positions random_positions(std::size_t count, std::size_t elements, std::uint64_t seed) {
  SplitMix64 random(seed);
  std::set<std::uint32_t> chosen;
  while (chosen.size() < count) {
    chosen.insert(static_cast<std::uint32_t>(random.below(elements)));
  }
  return {chosen.begin(), chosen.end()};
}

std::vector<std::byte> encode(const PositionCodec& codec, const Positions& positions,
                              std::size_t elements) {
  std::vector<std::byte> bytes(codec.max_size(positions.size(), elements));
  ByteWriter out(bytes);
  codec.encode(positions, elements, out);
  bytes.resize(out.size());
  return bytes;
}

Positions decode(const PositionCodec& codec, std::span<const std::byte> bytes, std::size_t count,
                 std::size_t elements) {
  PositionCursor cursor = codec.start(ByteReader(bytes), count, elements);
  Positions positions(count);
  // In two parts, as a pipeline decodes in blocks.
  codec.decode(cursor, std::span(positions).first(count / 2));
  codec.decode(cursor, std::span(positions).subspan(count / 2));
  codec.finish(cursor);
  return positions;
}

struct Case {
  Positions positions;
  std::size_t elements;
};

std::vector<Case> cases() {
  std::vector<Case> all = {{{}, 0},
                           {{}, 10},
                           {{0}, 1},
                           {{9}, 10},
                           {{0, 1, 2, 3, 4}, 5},
                           {{65534}, 70000},
                           {{65535}, 70000},
                           {{65536, 65537, 131073, 131074}, 200000},
                           {{0, 65536, 131072, 4294967294U}, 4294967295U}};
  for (std::size_t count : {1UL, 10UL, 100UL, 1000UL, 2000UL}) {
    all.push_back({random_positions(count, 2000, count), 2000});
    all.push_back({random_positions(count, 1000000, count), 1000000});
  }
  return all;
}

TEST(PositionCodec, RoundTrip) {
  for (const std::string& name : position_codec_names()) {
    SCOPED_TRACE(name);
    const auto codec = make_position_codec(name);
    for (const Case& test : cases()) {
      SCOPED_TRACE(std::to_string(test.positions.size()) + " of " + std::to_string(test.elements));
      const auto bytes = encode(*codec, test.positions, test.elements);
      EXPECT_EQ(decode(*codec, bytes, test.positions.size(), test.elements), test.positions);
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
        // At random, and all at the end, where the first gap is longest.
        Positions last(count);
        for (std::size_t i = 0; i < count; ++i) {
          last[i] = static_cast<std::uint32_t>(kElements - count + i);
        }
        for (const Positions& positions : {random_positions(count, kElements, count), last}) {
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
  const auto raw = encode(*make_raw32_codec(), positions, 10);
  EXPECT_EQ(raw.size(), 12U);
  EXPECT_EQ(static_cast<int>(raw[8]), 7);
  const auto run = encode(*make_run16_codec(), positions, 10);
  EXPECT_EQ(run, (std::vector<std::byte>{std::byte{2}, {}, {}, {}, std::byte{3}, {}}));
  // Density 0.3: ln(0.618) / ln(0.7) = 1.349, b = 1 + floor(0.43) = 1. Codes, lowest bit first:
  // 2 = quotient 1, remainder 0: 01 0; 0: 1 0; 3 = quotient 1, remainder 1: 01 1.
  const auto golomb = encode(*make_golomb_codec(), positions, 10);
  EXPECT_EQ(golomb, (std::vector<std::byte>{std::byte{1}, std::byte{0b11001010}}));
}

TEST(PositionCodec, LongRunsAreSplit) {
  // 131071 zeros = 65535 + 65535 + 1.
  const auto bytes = encode(*make_run16_codec(), {131071}, 200000);
  EXPECT_EQ(bytes.size(), 6U);
  EXPECT_EQ(static_cast<int>(bytes[0]) & static_cast<int>(bytes[3]), 0xff);
  EXPECT_EQ(static_cast<int>(bytes[4]), 1);
}

TEST(PositionCodec, RefusesWhatIsNotAListOfPositions) {
  const auto refused = [](const PositionCodec& codec, std::vector<std::uint8_t> bytes,
                          std::size_t count, std::size_t elements) {
    EXPECT_THROW(decode(codec, std::as_bytes(std::span(bytes)), count, elements), PayloadError);
  };
  const auto raw = make_raw32_codec();
  refused(*raw, {5, 0, 0, 0, 5, 0, 0, 0}, 2, 10);  // the same twice
  refused(*raw, {5, 0, 0, 0, 4, 0, 0, 0}, 2, 10);  // descending
  refused(*raw, {10, 0, 0, 0}, 1, 10);             // out of range
  refused(*raw, {5, 0, 0}, 1, 10);                 // truncated
  refused(*raw, {5, 0, 0, 0, 6, 0, 0, 0}, 1, 10);  // too long
  const auto run = make_run16_codec();
  refused(*run, {10, 0}, 1, 10);
  refused(*run, {0xff, 0xff}, 1, 100000);  // a split run without its end
  refused(*run, {0xff, 0xff, 0xff, 0xff, 0, 0}, 1, 100000);
  refused(*run, {1, 0, 1, 0}, 1, 10);
  const auto golomb = make_golomb_codec();
  refused(*golomb, {}, 1, 10);
  refused(*golomb, {32, 1}, 1, 10);         // parameter out of range
  refused(*golomb, {0, 0, 0}, 1, 100);      // no end of the unary part
  refused(*golomb, {0, 0b11}, 1, 10);       // one position, a bit left over
  refused(*golomb, {0, 1, 0}, 1, 10);       // a byte left over
  refused(*golomb, {0, 0, 0b1000}, 1, 10);  // position 11
  refused(*golomb, {1}, 0, 10);             // no positions, no bytes
  EXPECT_THROW(make_position_codec("bitmap9"), InputError);
}

}  // namespace
}  // namespace thinpipe
