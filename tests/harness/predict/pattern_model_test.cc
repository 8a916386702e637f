#include "harness/predict/pattern_model.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

constexpr LinkFigures kTen = {.alpha = 1e-3, .beta = 1e-8, .credit = 100e3};

double seconds(const char* pattern, Exchange exchange, double bytes, int ranks) {
  return exchange_cost(parse_spec(pattern), {exchange, {bytes}}, ranks, kTen)->seconds;
}

// Eight ranks, 4 MB. Each sends the array in each of 3 steps.
TEST(PatternModel, RecursiveDoublingSendsTheArrayInEveryStep) {
  EXPECT_NEAR(seconds("recursive-doubling", Exchange::kAllReduce, 4e6, 8),
              3e-3 + (12e6 - 100e3) * 1e-8, 1e-9);
}

// 3 steps of halves, and 3 back: 7/8 of the array each way.
TEST(PatternModel, HalvingAndDoublingSendsAsLittleAsARing) {
  EXPECT_NEAR(seconds("halving-doubling", Exchange::kAllReduce, 4e6, 8),
              6e-3 + (7e6 - 100e3) * 1e-8, 1e-9);
}

// The root has 3 children, each of which sends it the array and gets it back; 3 levels each way.
TEST(PatternModel, OfATreeTheRootDecides) {
  EXPECT_NEAR(seconds("tree", Exchange::kAllReduce, 4e6, 8), 6e-3 + (12e6 - 100e3) * 1e-8, 1e-9);
}

// Seven messages with their lengths come to every rank, in three steps.
TEST(PatternModel, GatheringByDoubling) {
  EXPECT_NEAR(seconds("recursive-doubling", Exchange::kAllGather, 1e6, 8),
              3e-3 + (7 * (1e6 + 8) - 100e3) * 1e-8, 1e-9);
}

TEST(PatternModel, SaysWhatItDoesNotKnow) {
  EXPECT_TRUE(has_model(parse_spec("ring")));
  EXPECT_TRUE(has_model(parse_spec("hierarchical:group=4")));
  EXPECT_FALSE(has_model(parse_spec("openmpi")));
}

}  // namespace
}  // namespace thinpipe
