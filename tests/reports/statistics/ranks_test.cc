#include "reports/statistics/ranks.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using Ranks = std::vector<std::size_t>;

TEST(DoubledRanks, TiesHaveTheMiddleOfTheirPlaces) {
  // In order 1, 2, 3, 3, 5: the threes stand in places 3 and 4, twice whose middle is 7.
  EXPECT_EQ(doubled_ranks(std::vector<double>{3, 1, 5, 3, 2}), (Ranks{7, 2, 10, 7, 4}));
  EXPECT_EQ(doubled_ranks(std::vector<double>{4, 4, 4}), (Ranks{4, 4, 4}));
  EXPECT_EQ(doubled_ranks({}), Ranks{});
}

}  // namespace
}  // namespace thinpipe
