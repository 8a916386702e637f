#include "harness/job/ranks.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

TEST(Ranks, TagsOfMpirunBecomeRanks) {
  EXPECT_EQ(with_rank_in_front("[1,0]<stdout>:step 20\n"), "[0] step 20\n");
  EXPECT_EQ(with_rank_in_front("[1,12]<stderr>:a>:b\n"), "[12] a>:b\n");
  EXPECT_EQ(with_rank_in_front("[1,3]<stdout>:\n"), "[3] \n");
}

TEST(Ranks, OtherLinesOfMpirunStay) {
  for (const char* line : {"mpirun noticed that process rank 1 exited\n", "\n", "", "[1,0]\n",
                           "a, b]<std>:\n", "[host0:12] ]<std,>:\n"})
    EXPECT_EQ(with_rank_in_front(line), line);
}

}  // namespace
}  // namespace thinpipe
