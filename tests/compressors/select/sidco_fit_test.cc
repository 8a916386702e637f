#include "compressors/select/sidco_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace thinpipe {
namespace {

TEST(SidcoFit, ExponentialQuantile) {
  EXPECT_NEAR(exponential_excess(2, std::exp(-3.0)), 6, 1e-14);
  EXPECT_EQ(exponential_excess(2, 1), 0);
}

TEST(SidcoFit, ParetoQuantileOfItsOwnMoments) {
  // Shape a, scale b: mean b / (1 - a), variance b^2 / ((1 - a)^2 (1 - 2a)).
  for (double a : {-0.4, 0.1, 0.3}) {
    for (double b : {0.01, 2.0}) {
      const double mean = b / (1 - a);
      const double variance = mean * mean / (1 - 2 * a);
      for (double delta : {0.25, 0.001}) {
        EXPECT_NEAR(pareto_excess(mean, variance, delta), b / a * (std::pow(delta, -a) - 1),
                    1e-12 * b / std::fabs(a) * std::pow(delta, -std::fabs(a)));
      }
    }
  }
}

TEST(SidcoFit, ParetoLimits) {
  // mean^2 = variance is exponential, on both sides of the switch to the limit.
  for (double off : {0.0, 1e-9, 1e-5}) {
    EXPECT_NEAR(pareto_excess(3, 9 * (1 + off), 0.01), 3 * std::log(100), 1e-3);
  }
  EXPECT_EQ(pareto_excess(3, 0, 0.01), 3);  // no spread: nothing exceeds the mean
  EXPECT_EQ(pareto_excess(0, 0, 0.01), 0);
}

TEST(SidcoFit, GammaOfShapeOneIsExponential) {
  // The logarithm of an exponential variable has mean ln(scale) - 0.5772...; the shape's closed
  // form is off by 0.6 % there.
  constexpr double kEuler = 0.57721566490153286;
  for (double delta : {0.25, 0.01}) {
    EXPECT_NEAR(gamma_excess(2, std::log(2) - kEuler, delta, true), 2 * -std::log(delta),
                0.02 * 2 * -std::log(delta));
    EXPECT_NEAR(gamma_excess(2, std::log(2) - kEuler, delta, false), 2 * -std::log(delta),
                0.02 * 2 * -std::log(delta));
  }
}

TEST(SidcoFit, GammaOfASmallShape) {
  // Shape 1/2, scale 2: a squared normal variable. P(x > 6.6349) = 0.01; mean 1, mean logarithm
  // ln 2 + digamma(1/2) = -1.2703628. The closed form of the shape gives 0.5 within 2 %.
  EXPECT_NEAR(gamma_excess(1, -1.2703628, 0.01, true), 6.6349, 0.1);
}

TEST(SidcoFit, ShapesAndScalesOfTheirOwnMoments) {
  const auto pareto = fit_pareto(2 / (1 - 0.3), 4 / (0.7 * 0.7 * 0.4));  // shape 0.3, scale 2
  EXPECT_NEAR(pareto.shape, 0.3, 1e-14);
  EXPECT_NEAR(pareto.scale, 2, 1e-14);
  EXPECT_TRUE(std::isnan(fit_pareto(1, 0).shape));
  const auto gamma = fit_gamma(1, -1.2703628);  // shape 1/2, scale 2
  EXPECT_NEAR(gamma.shape, 0.5, 0.01);
  EXPECT_EQ(gamma.scale, 1 / gamma.shape);
  EXPECT_TRUE(std::isnan(fit_gamma(1, 0.5).shape));
}

TEST(SidcoFit, GammaWithoutAFitIsExponential) {
  const double expected = exponential_excess(0.1, 0.01);
  EXPECT_EQ(gamma_excess(0.1, std::log(0.1) + 1, 0.01, false), expected);  // many zeros: s < 0
  EXPECT_EQ(gamma_excess(0.1, std::numeric_limits<double>::quiet_NaN(), 0.01, false), expected);
  EXPECT_EQ(gamma_excess(0, std::numeric_limits<double>::quiet_NaN(), 0.01, true), 0);
}

}  // namespace
}  // namespace thinpipe
