#include "compressors/select/distributions.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace thinpipe {
namespace {

TEST(Distributions, NormalQuantile) {
  EXPECT_EQ(normal_quantile(0.5), 0);
  EXPECT_NEAR(normal_quantile(0.025), -1.959963984540054, 1e-14);
  for (double p : {1e-12, 0.0005, 0.3, 0.9, 0.9999}) {
    EXPECT_NEAR(std::erfc(-normal_quantile(p) / std::numbers::sqrt2) / 2, p, 1e-12 * p);
  }
}

TEST(Distributions, LogGamma) {
  EXPECT_NEAR(log_gamma(0.5), std::log(std::numbers::pi) / 2, 1e-15);
  EXPECT_NEAR(log_gamma(5), std::log(24.0), 1e-14);
}

TEST(Distributions, GammaTail) {
  for (double p : {1e-6, 0.001, 0.25, 0.9}) {
    EXPECT_NEAR(gamma_exceeded(1, p), -std::log(p), 1e-12);  // shape 1 is exponential
    // Shape 1/2: the tail is erfc(sqrt(x)).
    EXPECT_NEAR(std::erfc(std::sqrt(gamma_exceeded(0.5, p))), p, 1e-12 * p + 1e-15);
    // Shape 2: e^-x (1 + x).
    const double x = gamma_exceeded(2, p);
    EXPECT_NEAR(std::exp(-x) * (1 + x), p, 1e-12 * p);
  }
}

TEST(Distributions, GammaAndNormalBelow) {
  for (double x : {0.0, 1e-6, 0.3, 2.0, 40.0}) {
    EXPECT_NEAR(gamma_below(1, x), -std::expm1(-x), 1e-15);
    EXPECT_NEAR(gamma_below(0.5, x), std::erf(std::sqrt(x)), 1e-14);
    EXPECT_NEAR(gamma_below(2, x), 1 - std::exp(-x) * (1 + x), 1e-15);
    EXPECT_NEAR(normal_below(x) + normal_below(-x), 1, 1e-15);
  }
  for (double p : {1e-9, 0.2, 0.5, 0.975}) EXPECT_NEAR(normal_below(normal_quantile(p)), p, 1e-13);
}

}  // namespace
}  // namespace thinpipe
