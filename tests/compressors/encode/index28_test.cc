// 28-bit positions, held to a writer of one bit at a time.
#include <gtest/gtest.h>

#include "tests/compressors/support/methods.h"
#include "tests/compressors/support/positions.h"

namespace thinpipe {
namespace {

constexpr std::size_t kMostIndices = std::size_t{1} << 28;

TEST(Index28, IsTwentyEightBitsAPosition) {
  const auto codec = make_index28_codec();
  for (const auto& test : testing::position_cases(kMostIndices)) {
    SCOPED_TRACE(test.name());
    testing::SlowBits expected;
    for (std::uint32_t position : test.positions) expected.number(position, 28);
    const auto bytes = testing::encode(*codec, test.positions, test.elements);
    EXPECT_EQ(bytes, expected.bytes());
    EXPECT_EQ(testing::decode(*codec, bytes, test.positions.size(), test.elements), test.positions);
  }
}

TEST(Index28, RefusesTensorsThatItCannotAddress) {
  const auto codec = make_index28_codec();
  EXPECT_NO_THROW(codec->max_size(1, kMostIndices));
  EXPECT_THROW(codec->max_size(1, kMostIndices + 1), InputError);
  std::vector<std::byte> room(16);
  ByteWriter out(room);
  EXPECT_THROW(codec->encode(testing::Positions{1}, kMostIndices + 1, out), InputError);
  EXPECT_THROW(codec->start(ByteReader(room), 1, kMostIndices + 1), InputError);
}

TEST(Index28, RefusesDisorder) {
  const auto codec = make_index28_codec();
  for (const testing::Positions& wrong :
       {testing::Positions{5, 5}, testing::Positions{5, 4}, testing::Positions{5, 10}}) {
    const auto bytes = testing::encode(*codec, wrong, 11);  // the writer does not look
    EXPECT_THROW(testing::decode(*codec, bytes, 2, 10), PayloadError);
  }
}

}  // namespace
}  // namespace thinpipe
