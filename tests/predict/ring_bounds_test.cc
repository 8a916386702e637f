#include "workloads/predict/ring_bounds.h"

#include <gtest/gtest.h>

#include <vector>

#include "workloads/predict/ring_time.h"

namespace thinpipe {
namespace {

// 16 workers, 25 million parameters of 32 bits at 1 ns a bit: 2 * 15 / 16 * 0.8 s.
TEST(VarianceModel, AllReduce) {
  EXPECT_NEAR(variance_all_reduce_time(16, 25e6, 32, 1e-9), 1.5, 1e-12);
  const LinkFigures link = {.alpha = 0, .beta = 8e-9, .credit = 0};
  EXPECT_NEAR(ring_all_reduce_time(16, 4 * 25e6, link), 1.5, 1e-9);
}

// 3 messages of 1, 2 and 3 Mbit in blocks of 1 kbit: 6.002 ms.
TEST(VarianceModel, AllGatherIsNeverAboveItsBound) {
  const std::vector<double> bits = {1e6, 2e6, 3e6};
  EXPECT_NEAR(variance_all_gather_bound(bits, 1e3, 1e-9), 6.002e-3, 1e-12);
  std::vector<double> bytes;
  for (const double one : bits) bytes.push_back(one / 8);
  const LinkFigures link = {.alpha = 0, .beta = 8e-9, .credit = 0};
  EXPECT_LE(ring_all_gather_time(bytes, link),
            variance_all_gather_bound(bits, 8 * kRingSegment, 1e-9));
}

// The ratio of the two without blocks: p workers send N s / c bits each.
TEST(VarianceModel, SpeedUpIsTheRatioOfTheTwo) {
  const std::vector<double> bits(8, 32e6 / 100);
  EXPECT_NEAR(variance_all_reduce_time(8, 1e6, 32, 1e-9) / variance_all_gather_bound(bits, 0, 1e-9),
              variance_speed_up(8, 100), 1e-9);
}

}  // namespace
}  // namespace thinpipe
