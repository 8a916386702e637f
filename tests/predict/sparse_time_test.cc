#include "workloads/predict/sparse_time.h"

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

constexpr LinkFigures kLink = {.alpha = 1e-3, .beta = 1e-8, .credit = 0};

// 1 % of 4 MB as 80 kB, eight ranks: 80, 160 and 320 kB in three steps.
TEST(SparseTime, DoublesInTheWorstCase) {
  EXPECT_NEAR(sparse_doubling_time(8, 80e3, 0.01, 4e6, Overlapping::kNone, kLink),
              3e-3 + 560e3 * 1e-8, 1e-12);
}

// Two independent halves fill 3/4, 1.5 times as much as one: 1 MB and 1.5 MB.
TEST(SparseTime, OfIndependentPlaces) {
  EXPECT_NEAR(sparse_doubling_time(4, 1e6, 0.5, 8e6, Overlapping::kIndependent, kLink),
              2e-3 + 2.5e6 * 1e-8, 1e-12);
}

// A sum that is full is sent as the dense array.
TEST(SparseTime, IsNeverLongerThanDense) {
  EXPECT_NEAR(sparse_doubling_time(4, 3e6, 0.4, 4e6, Overlapping::kNone, kLink), 2e-3 + 7e6 * 1e-8,
              1e-12);
  EXPECT_EQ(sparse_doubling_time(1, 3e6, 0.4, 4e6, Overlapping::kNone, kLink), 0);
}

}  // namespace
}  // namespace thinpipe
