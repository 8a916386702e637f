#include "netem/correlated_draws.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/error.h"

namespace thinpipe {
namespace {

// The kernel's own arithmetic, in its 32 bits (get_crandom, sch_netem.c).
class KernelDraws {
 public:
  explicit KernelDraws(double correlation)
      : rho_(static_cast<std::uint64_t>(correlation * UINT32_MAX) + 1) {}
  std::uint32_t next() {
    const std::uint64_t value = random_() & UINT32_MAX;
    last_ = static_cast<std::uint32_t>((value * ((1ULL << 32) - rho_) + last_ * rho_) >> 32);
    return last_;
  }

 private:
  std::mt19937_64 random_{7};
  std::uint64_t rho_;
  std::uint64_t last_ = 1U << 31;
};

TEST(CorrelatedDraws, ThresholdsLoseTheirShareByTheKernelsArithmetic) {
  constexpr int kDraws = 2'000'000;
  for (const double correlation : {0.02, 0.25, 0.5, 0.9})
    for (const double share : {0.001, 0.01, 0.2, 0.7}) {
      const double threshold = correlated_threshold(share, correlation);
      const auto limit = static_cast<std::uint32_t>(threshold * UINT32_MAX);
      KernelDraws draws(correlation);
      double lost = 0;
      for (int i = 0; i < kDraws; ++i) lost += draws.next() <= limit ? 1 : 0;
      // Five standard deviations, wider by the memory of an autoregressive series.
      const double band =
          5 * std::sqrt(kDraws * share * (1 - share) * (1 + correlation) / (1 - correlation));
      EXPECT_NEAR(lost, kDraws * share, band) << share << " correlated by " << correlation;
    }
}

// With c = 1/2, x = u_0 / 2 + u_1 / 4 + ...: for x <= t both u_0 <= 2t and the rest must fit. In
// the tail the recursion F(t) = c / (1 - c) * integral of F from 0 to t / c holds: F(t) = int_0^2t
// F.
TEST(CorrelatedDraws, TheShareObeysItsRecursion) {
  for (const double threshold : {0.02, 0.1, 0.3}) {
    double integral = 0;
    constexpr int kParts = 200;
    const double width = 2 * threshold / kParts;
    for (int i = 0; i < kParts; ++i) integral += width * correlated_share((i + 0.5) * width, 0.5);
    EXPECT_NEAR(correlated_share(threshold, 0.5), integral, 1e-5) << threshold;
  }
}

TEST(CorrelatedDraws, EdgesAreThemselves) {
  EXPECT_EQ(correlated_threshold(0, 0.5), 0);
  EXPECT_EQ(correlated_threshold(1, 0.5), 1);
  EXPECT_EQ(correlated_threshold(0.3, 0), 0.3);
  EXPECT_NEAR(correlated_threshold(0.5, 0.5), 0.5, 1e-9);  // draws are symmetric around 1/2
  EXPECT_THROW(correlated_threshold(0.1, 1), InputError);
}

// The figure in the header.
TEST(CorrelatedDraws, NetemAloneLosesFarLess) {
  EXPECT_NEAR(correlated_share(0.01, 0.25), 2.4e-6, 0.1e-6);
}

}  // namespace
}  // namespace thinpipe
