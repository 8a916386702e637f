#include "workloads/synthetic/normal_pool.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

// Of 8192 numbers in any order a correlation would scatter by 0.011.
TEST(NormalPool, NeighboursDoNotCorrelate) {
  for (std::size_t lag = 1; lag < NormalPool::kRow; ++lag) {
    EXPECT_NEAR(normal_pool().correlation(lag), 0, 1e-3) << lag;
  }
  EXPECT_NEAR(normal_pool().correlation(0), 1, 1e-12);
}

TEST(NormalPool, EitherSignEquallyOftenAndTheFirstComeAgain) {
  const std::int16_t* pool = normal_pool().data();
  std::vector<int> count(20001);
  for (std::size_t i = 0; i < NormalPool::kSize; ++i) ++count.at(10000 + pool[i]);
  for (std::size_t i = 0; i < count.size(); ++i) EXPECT_EQ(count[i], count[20000 - i]) << i;
  for (std::size_t i = 0; i + 1 < NormalPool::kRow; ++i) {
    EXPECT_EQ(pool[i], pool[NormalPool::kSize + i]);
  }
}

// The law of a sum of three, exactly, against the normal one of the same variance.
TEST(NormalPool, SumsOfThreeAreNormal) {
  const NormalPool& pool = normal_pool();
  constexpr int kReach = 8000;  // 5 standard deviations of one
  std::vector<double> law(2 * kReach + 1);
  for (std::size_t i = 0; i < NormalPool::kSize; ++i) {
    law.at(kReach + pool.data()[i]) += 1.0 / NormalPool::kSize;
  }
  const auto with_another = [&](const std::vector<double>& one) {
    std::vector<double> sum(one.size() + law.size() - 1);
    for (std::size_t i = 0; i < law.size(); ++i) {
      if (law[i] == 0) continue;
      for (std::size_t j = 0; j < one.size(); ++j) sum[i + j] += law[i] * one[j];
    }
    return sum;
  };
  const std::vector<double> three = with_another(with_another(law));
  const auto normal = [&](double x) { return 0.5 * std::erfc(x / pool.sigma() / std::sqrt(2.0)); };
  double beyond = 0, worst = 0, variance = 0;
  for (int x = 3 * kReach; x > 0; --x) {
    const double share = three[static_cast<std::size_t>(x + 3 * kReach)];
    beyond += share;
    variance += 2 * share * x * x;
    const double expected = normal(x - 0.5);
    worst = std::max(worst, std::fabs(beyond - expected));
    // To where 26 million numbers reach.
    const double tolerance = expected > 1e-4 ? 0.01 : 0.1;
    if (expected > 1e-7) {
      EXPECT_NEAR(beyond / expected, 1, tolerance) << x / pool.sigma();
    }
  }
  EXPECT_LT(worst, 1e-4);
  EXPECT_NEAR(std::sqrt(variance) / pool.sigma(), 1, 1e-9);
}

}  // namespace
}  // namespace thinpipe
