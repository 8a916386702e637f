#include "workloads/exchange/exchange_units.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

using Servers = std::vector<int>;

TEST(PartitionUnits, TheLargestGoesToWhoeverHasLeast) {
  // 9 to server 0; 7 and 4 to server 1, which then has 11; 3 to server 0 (12); 2 to server 1.
  EXPECT_EQ(partition_units(std::vector<std::size_t>{3, 9, 2, 7, 4}, 2, Partition::kBalanced),
            (Servers{0, 0, 1, 1, 1}));
}

TEST(PartitionUnits, AmongEqualsTheFirst) {
  EXPECT_EQ(partition_units(std::vector<std::size_t>{5, 5, 5, 0, 0}, 3, Partition::kBalanced),
            (Servers{0, 1, 2, 0, 0}));
}

TEST(PartitionUnits, RoundRobinDealsThemInOrder) {
  EXPECT_EQ(partition_units(std::vector<std::size_t>{3, 9, 2, 7, 4}, 2, Partition::kRoundRobin),
            (Servers{0, 1, 0, 1, 0}));
}

TEST(PartitionUnits, WithMoreServersThanUnitsSomeHaveNone) {
  for (const Partition partition : {Partition::kBalanced, Partition::kRoundRobin})
    EXPECT_EQ(partition_units(std::vector<std::size_t>{2, 1}, 4, partition), (Servers{0, 1}));
  EXPECT_TRUE(partition_units({}, 2, Partition::kBalanced).empty());
}

}  // namespace
}  // namespace thinpipe
