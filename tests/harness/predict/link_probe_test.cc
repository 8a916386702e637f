#include "harness/predict/link_probe.h"

#include <gtest/gtest.h>

#include "workloads/predict/ring_time.h"

namespace thinpipe {
namespace {

constexpr LinkFigures kSet = {.alpha = 1e-3, .beta = 8e-8, .credit = 12500};

// 0.05 s of 12.5 MB/s and four times the credit, in three messages.
TEST(LinkProbe, SendsSeveralTimesTheCredit) {
  EXPECT_EQ(probe_bytes(kSet, 4), static_cast<std::size_t>((0.05 / 8e-8 + 4 * 12500) / 3));
}

// Six messages of 1.2 ms on the rank that came last; others waited for it. What links take is what
// the model says of a link 5 % slower than set.
TEST(LinkProbe, FindsWhatTheMachinesAdd) {
  const LinkFigures real = {.alpha = 1.2e-3, .beta = 1.05 * 8e-8, .credit = 12500};
  const double time = ring_all_gather_time(4, 200e3, real);
  const std::vector<std::vector<double>> small = {
      {8e-3, 7.2e-3, 9e-3}, {7.2e-3, 9e-3, 7.2e-3}, {8e-3, 8e-3, 8e-3}, {8e-3, 8e-3, 8e-3}};
  const std::vector<std::vector<double>> large(4, {3 * time, time, 2 * time});
  const MachineFigures found = machine_figures(small, large, 200000, kSet);
  EXPECT_NEAR(found.message_time, 0.2e-3, 1e-9);
  EXPECT_NEAR(found.slower, 1.05, 1e-6);
}

TEST(LinkProbe, OfOneRankIsNothing) {
  const MachineFigures found = machine_figures({{1e-3}}, {{1e-3}}, 1000, kSet);
  EXPECT_EQ(found.message_time, 0);
  EXPECT_EQ(found.slower, 1);
}

}  // namespace
}  // namespace thinpipe
