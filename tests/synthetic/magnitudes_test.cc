#include "workloads/synthetic/magnitudes.h"

#include <limits>
#include <stdexcept>

#include <gtest/gtest.h>

#include "tests/synthetic/ks.h"

namespace thinpipe {
namespace {

TEST(Magnitudes, QuantilesInvertTheClosedForms) {
  for (const auto& [family, parameters] : closed_forms()) {
    const ValueDistribution made = make_family(family, parameters);
    const double values = 1 - parameters.zeros;
    for (double p = 1e-9; p < 0.6; p *= 3) {
      const double upper = exceedance(family, parameters, made.above->upper(p));
      EXPECT_NEAR(upper, p * values, 1e-9 * p) << family << " exceeded by " << p;
      const double lower = 1 - exceedance(family, parameters, made.above->lower(p)) / values;
      EXPECT_NEAR(lower, p, 1e-9 * p + 1e-15) << family << " not reached by " << p;
    }
  }
}

TEST(Magnitudes, SharesOfSignsAndZeros) {
  const ValueDistribution made = make_family("bernoulli-gaussian", {.zeros = 0.9});
  EXPECT_DOUBLE_EQ(made.negative, 0.05);
  EXPECT_DOUBLE_EQ(made.positive, 0.05);
  EXPECT_TRUE(make_family("student", {.dof = 2.1}).finite_variance);
  EXPECT_FALSE(make_family("student", {.dof = 2}).finite_variance);
  EXPECT_FALSE(make_family("gpareto", {.shape = 0.5}).finite_variance);
  EXPECT_THROW(make_family("cauchy", {}), std::logic_error);
}

TEST(Magnitudes, EmpiricalQuantilesInterpolateOrderStatistics) {
  const float infinity = std::numeric_limits<float>::infinity();
  const ValueDistribution made = make_empirical({3, -1, 0, 1, 2, 4, 0, NAN, infinity, 0});
  EXPECT_DOUBLE_EQ(made.negative, 1.0 / 8);
  EXPECT_DOUBLE_EQ(made.positive, 4.0 / 8);
  // Of 1, 2, 3, 4 number i lies at (i + 0.5) / 4.
  EXPECT_DOUBLE_EQ(made.above->lower(0.125), 1);
  EXPECT_DOUBLE_EQ(made.above->lower(0.25), 1.5);
  EXPECT_DOUBLE_EQ(made.above->upper(0.25), 3.5);
  EXPECT_DOUBLE_EQ(made.above->upper(1e-9), 4);
  EXPECT_DOUBLE_EQ(made.above->lower(1e-9), 1);
  EXPECT_DOUBLE_EQ(made.below->upper(0.3), 1);
  const ValueDistribution none = make_empirical({});
  EXPECT_EQ(none.negative + none.positive, 0);
  EXPECT_EQ(none.above->upper(0.1), 0);
}

}  // namespace
}  // namespace thinpipe
