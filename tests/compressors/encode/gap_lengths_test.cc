// Packed gaps, held to a writer of one bit at a time.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/compressors/support/positions.h"

namespace thinpipe {
namespace {

using testing::decode;
using testing::encode;

std::vector<std::byte> packed_slowly(const testing::Positions& positions) {
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
    testing::SlowBits block;
    block.number(static_cast<std::uint64_t>(width), 8);
    for (std::size_t i = first; i < end; ++i) block.number(gaps[i] - 1, width);
    all.insert(all.end(), block.bytes().begin(), block.bytes().end());
  }
  return all;
}

TEST(Packed, BlocksAreAsWideAsTheirLargestGap) {
  const auto codec = make_packed_codec();
  for (const auto& test : testing::position_cases()) {
    SCOPED_TRACE(test.name());
    EXPECT_EQ(encode(*codec, test.positions, test.elements), packed_slowly(test.positions));
  }
}

TEST(Packed, AllElementsTakeAByteABlock) {
  testing::Positions all(300);
  for (std::uint32_t i = 0; i < 300; ++i) all[i] = i;
  EXPECT_EQ(encode(*make_packed_codec(), all, 300), std::vector<std::byte>(3));
}

TEST(Packed, RefusesWhatNoWriterWrites) {
  const auto refused = [](std::vector<std::uint8_t> bytes, std::size_t count,
                          std::size_t elements) {
    EXPECT_THROW(decode(*make_packed_codec(), std::as_bytes(std::span(bytes)), count, elements),
                 PayloadError);
  };
  refused({33, 0, 0, 0, 0, 0}, 1, 10);  // wider than any gap
  refused({4, 9, 0}, 1, 10);            // a byte left over
  refused({4, 0x19}, 1, 10);            // a bit left over
  refused({4, 10}, 1, 10);              // out of range
  refused({4, 0x55}, 2, 10);            // 5, then 11
  refused({32, 255, 255, 255}, 1, 10);  // truncated
  refused({32, 255, 255, 255, 255}, 1, 4294967295U);
  const std::vector<std::uint8_t> wide = {32, 9, 0, 0, 0};  // wider than needed: any reader's right
  EXPECT_EQ(decode(*make_packed_codec(), std::as_bytes(std::span(wide)), 1, 10),
            testing::Positions{9});
}

}  // namespace
}  // namespace thinpipe
