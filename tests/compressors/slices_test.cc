#include "compressors/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace thinpipe {
namespace {

using ::testing::ElementsAre;

TEST(SliceEnds, AreEvenAndTheLongerSlicesComeFirst) {
  EXPECT_THAT(slice_ends(parse_spec("3lc"), 10000, 3), ElementsAre(3334, 6667, 10000));
  EXPECT_THAT(slice_ends(parse_spec("3lc"), 4096, 4), ElementsAre(1024, 2048, 3072, 4096));
}

TEST(SliceEnds, AreEndsOfGrains) {
  EXPECT_EQ(slice_grain(parse_spec("blockint4:block=256")), 256U);
  EXPECT_EQ(slice_grain(parse_spec("qsgd:bucket=0")), 1U);
  EXPECT_EQ(slice_grain(parse_spec("topk")), 1U);
  // 40 grains, the last with 16 elements: 14, 13 and 13 of them.
  EXPECT_THAT(slice_ends(parse_spec("blockint4:block=256"), 10000, 3),
              ElementsAre(14 * 256, 27 * 256, 10000));
}

TEST(SliceEnds, SmallArraysHaveFewerSlicesThanRanks) {
  EXPECT_THAT(slice_ends(parse_spec("3lc"), 2100, 4), ElementsAre(1050, 2100));
  EXPECT_THAT(slice_ends(parse_spec("3lc"), 100, 4), ElementsAre(100));
  EXPECT_THAT(slice_ends(parse_spec("3lc"), 0, 4), ElementsAre(0));
  EXPECT_THAT(slice_ends(parse_spec("3lc"), 10000, 1), ElementsAre(10000));
}

TEST(SliceEnds, UnknownMethodsAreRefused) {
  EXPECT_THROW(slice_ends({.name = "nonesuch", .values = {}}, 10, 2), InputError);
}

}  // namespace
}  // namespace thinpipe
