#include "workloads/exchange/segments.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(Parts, AreAsEvenAsCanBeAndFollowEachOther) {
  for (const std::size_t elements : {0, 1, 7, 8192, 8193, 100003})
    for (const std::size_t count : {1, 2, 3, 8}) {
      const Parts parts{elements, count};
      std::size_t at = 0, segment = 0;
      for (std::size_t part = 0; part < count; ++part) {
        const std::size_t size = elements / count + (part < elements % count ? 1 : 0);
        EXPECT_EQ(parts.begin(part), at);
        EXPECT_EQ(parts.size(part), size);
        EXPECT_EQ(parts.first_segment(part), segment);
        at += size;
        // 8192 floats are 32 kB.
        segment += size / 8192 + (size % 8192 > 0 ? 1 : 0);
      }
      EXPECT_EQ(at, elements);
      EXPECT_EQ(parts.segments(0, count), segment);
      EXPECT_EQ(parts.size(0, count), elements);
    }
}

TEST(Parts, OfSixteenBitElementsHaveTwiceAsManyInASegment) {
  const Parts parts{3 * 16384 + 1, 2, 2};
  EXPECT_EQ(parts.segment(), 16384U);
  EXPECT_EQ(parts.first_segment(1), 2U);  // 24577 elements, then 24576
  EXPECT_EQ(parts.segments(0, 2), 4U);
}

TEST(Segments, OfBytes) {
  EXPECT_EQ(segments_of_bytes(0), 0U);
  EXPECT_EQ(segments_of_bytes(1), 1U);
  EXPECT_EQ(segments_of_bytes(32768), 1U);
  EXPECT_EQ(segments_of_bytes(32769), 2U);
}

}  // namespace
}  // namespace thinpipe
