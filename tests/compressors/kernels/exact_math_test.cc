// Against Boost.Math's.
#include "compressors/kernels/exact_math.h"

#include <gtest/gtest.h>

#include <cmath>

#include "compressors/select/distributions.h"

namespace thinpipe {
namespace {

TEST(ExactGamma, Exponentials) {
  EXPECT_EQ(exact_exp(0), 1);
  for (double x : {-707.5, -300.0, -1.0, -1e-9, 1e-9, 0.3, 2.0, 100.0, 708.9})
    EXPECT_NEAR(exact_exp(x) / std::exp(x), 1, 4e-16) << x;
  EXPECT_EQ(exact_exp(-800), 0);
}

TEST(ExactGamma, NormalQuantiles) {
  for (double p : {1e-300, 1e-20, 1e-9, 1e-4, 0.01, 0.07, 0.25, 0.4, 0.9, 0.99, 0.999999}) {
    const double expected = -normal_quantile(p);
    EXPECT_NEAR(exact_normal_exceeded(p), expected, 1e-14 * (1 + std::fabs(expected))) << p;
  }
  EXPECT_EQ(exact_normal_exceeded(0.5), 0);
}

TEST(ExactGamma, GammaQuantiles) {
  for (double shape :
       {0.02, 0.1, 0.3, 0.5, 0.9, 1.0, 1.5, 2.0, 7.3, 40.0, 999.0, 19'999.0, 20'000.0, 1e6}) {
    for (double p : {1e-9, 1e-4, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.99}) {
      const double expected = gamma_exceeded(shape, p);
      EXPECT_NEAR(exact_gamma_exceeded(shape, p), expected, 1e-10 * expected + 1e-300)
          << "shape " << shape << ", p " << p;
    }
    EXPECT_EQ(exact_gamma_exceeded(shape, 1), 0);
  }
}

TEST(ExactGamma, OfNearlyEqualMagnitudes) {
  // A normal distribution of as much variance, a third of (z^2 - 1) to the right. (Boost.Math's
  // quantiles of such shapes are off by a sixth of a standard deviation.)
  constexpr double kShape = 1e12;
  for (double p : {1e-4, 0.01, 0.25, 0.9}) {
    const double z = exact_normal_exceeded(p);
    EXPECT_NEAR(exact_gamma_exceeded(kShape, p), kShape + z * 1e6 + (z * z - 1) / 3, 1e-3);
  }
}

TEST(ExactGamma, WhatIsTooSmallIsZero) {
  // Below x, a share of about x^shape / gamma(shape + 1): half of it is at 2^-1000 or so.
  EXPECT_EQ(exact_gamma_exceeded(0.0005, 0.5), 0);
}

}  // namespace
}  // namespace thinpipe
