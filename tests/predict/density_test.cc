#include "workloads/predict/density.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace thinpipe {
namespace {

// DGC section 5: 0.1 % on 64 nodes after log2(64) = 6 doublings.
TEST(Density, DoublesAtEveryAggregationInTheWorstCase) {
  double doubled = 0.001;
  for (int round = 0; round < 6; ++round) doubled *= 2;
  EXPECT_DOUBLE_EQ(worst_density(0.001, 64), doubled);
  EXPECT_EQ(worst_density(0.1, 64), 1);
}

// 1 - 0.99^2 = 0.0199; 1 - 0.5^3 = 0.875.
TEST(Density, OfIndependentVectors) {
  EXPECT_NEAR(independent_density(0.01, 2), 0.0199, 1e-12);
  EXPECT_NEAR(independent_density(0.5, 3), 0.875, 1e-12);
  EXPECT_NEAR(independent_density(1e-9, 4), 4e-9, 1e-16);
  EXPECT_EQ(independent_density(1, 2), 1);
  EXPECT_EQ(independent_density(0.1, 0), 0);
}

TEST(Density, OfVectorsThatAreDrawn) {
  std::mt19937 generator(3);
  constexpr int kElements = 200000;
  std::vector<bool> taken(kElements);
  std::bernoulli_distribution keep(0.05);
  int places = 0;
  for (int vector = 0; vector < 8; ++vector)
    for (int i = 0; i < kElements; ++i)
      if (keep(generator) && !taken[static_cast<std::size_t>(i)]) {
        taken[static_cast<std::size_t>(i)] = true;
        ++places;
      }
  // Five standard deviations of the mean of 200,000 draws.
  EXPECT_NEAR(static_cast<double>(places) / kElements, independent_density(0.05, 8), 0.0053);
}

}  // namespace
}  // namespace thinpipe
