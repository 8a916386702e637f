#include "workloads/exchange/mean_count.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "tests/exchange/thread_transport.h"

namespace thinpipe {
namespace {

TEST(MeanCount, IsRoundedUpAndTheSameOnAllRanks) {
  on_all_ranks(3, [](ThreadTransport& transport) {
    MeanCount mean;
    EXPECT_EQ(mean.run(transport, transport.rank() == 0 ? 1 : 2, 10), 2U);  // of 5 / 3
    EXPECT_EQ(mean.run(transport, 4, 4), 4U);
  });
}

TEST(MeanCount, RefusesMoreThanThereAre) {
  on_all_ranks(1, [](ThreadTransport& transport) {
    EXPECT_THROW(MeanCount().run(transport, 5, 4), InputError);
  });
}

}  // namespace
}  // namespace thinpipe
