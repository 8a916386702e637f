// The bitmap, held to a list of booleans.
#include <gtest/gtest.h>

#include "tests/compressors/support/positions.h"

namespace thinpipe {
namespace {

using testing::decode;
using testing::encode;

TEST(Bitmap, IsOneBitAnElement) {
  const auto codec = make_bitmap_codec();
  for (const auto& test : testing::position_cases(4000000)) {
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
  const auto codec = make_bitmap_codec();
  for (std::size_t elements : {7UL, 8UL, 64UL, 65UL, 1000UL}) {
    for (std::size_t count : {1UL, 3UL, 7UL}) {
      const auto positions = testing::random_positions(count, elements, 1);
      const auto bytes = encode(*codec, positions, elements);
      EXPECT_EQ(decode(*codec, bytes, count, elements), positions);
      EXPECT_THROW(decode(*codec, bytes, count - 1, elements), PayloadError);
      EXPECT_THROW(decode(*codec, bytes, count + 1, elements), PayloadError);
    }
  }
}

TEST(Bitmap, RefusesAOneAfterTheLastElement) {
  const auto codec = make_bitmap_codec();
  const std::vector<std::byte> bytes = {std::byte{0b00001001}};
  EXPECT_EQ(decode(*codec, bytes, 2, 4), (testing::Positions{0, 3}));
  EXPECT_THROW(decode(*codec, bytes, 2, 3), PayloadError);
  EXPECT_THROW(decode(*codec, bytes, 1, 3), PayloadError);
}

}  // namespace
}  // namespace thinpipe
