#include "netem/verify/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

namespace thinpipe {
namespace {

TEST(ClopperPearson, IsExactAtTheEnds) {
  // None of n: the share with which that has probability (1 - confidence) / 2 is
  // 1 - 0.025^(1/n).
  const ShareInterval none = clopper_pearson(0, 10, 0.95);
  EXPECT_EQ(none.low, 0);
  EXPECT_NEAR(none.high, 1 - std::pow(0.025, 0.1), 1e-12);
  const ShareInterval all = clopper_pearson(10, 10, 0.95);
  EXPECT_NEAR(all.low, std::pow(0.025, 0.1), 1e-12);
  EXPECT_EQ(all.high, 1);
  // One of n: 1 - (1 - low)^n = 0.025.
  EXPECT_NEAR(clopper_pearson(1, 100, 0.95).low, 1 - std::pow(0.975, 0.01), 1e-12);
}

double binomial_tail(int from, int trials, double share) {
  double sum = 0;
  for (int k = from; k <= trials; ++k)
    sum += std::exp(std::lgamma(trials + 1) - std::lgamma(k + 1) - std::lgamma(trials - k + 1) +
                    k * std::log(share) + (trials - k) * std::log1p(-share));
  return sum;
}

// By definition: at the low end so many or more, at the high end so many or fewer have probability
// (1 - confidence) / 2.
TEST(ClopperPearson, IsWhatTheBinomialSays) {
  for (const auto& [count, trials] : {std::pair(5, 10), std::pair(3, 1000), std::pair(940, 1000)}) {
    const ShareInterval interval = clopper_pearson(count, trials, 0.999);
    EXPECT_NEAR(binomial_tail(count, trials, interval.low), 0.0005, 1e-9) << count;
    EXPECT_NEAR(1 - binomial_tail(count + 1, trials, interval.high), 0.0005, 1e-9) << count;
  }
}

TEST(ClopperPearson, ShrinksWithTrialsAndHoldsTheShare) {
  const ShareInterval few = clopper_pearson(10, 1000, 0.999),
                      many = clopper_pearson(100, 10000, 0.999);
  EXPECT_LT(many.high - many.low, (few.high - few.low) / 2);
  EXPECT_TRUE(many.holds(0.01));
  EXPECT_FALSE(many.holds(0.02));
  EXPECT_FALSE(many.holds(0.005));
}

}  // namespace

}  // namespace thinpipe
