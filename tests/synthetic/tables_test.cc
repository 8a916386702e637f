#include "workloads/synthetic/tables.h"

#include <cmath>

#include <gtest/gtest.h>

namespace thinpipe {
namespace {

CopulaCorrelation correlation_of(const std::string& family, const FamilyParameters& parameters) {
  return CopulaCorrelation(CopulaTable(make_family(family, parameters)));
}

TEST(CopulaCorrelation, NormalNumbersKeepTheirs) {
  const CopulaCorrelation same = correlation_of("normal", {});
  for (const double rho : {0.0, 0.1, 0.5, 0.9, 0.999}) {
    EXPECT_NEAR(same.of_values(rho), rho, 1e-5);
    EXPECT_NEAR(same.of_normals(rho), rho, 1e-5);
  }
}

// Of a normal number's sign times a constant it is 2 / pi arcsin rho.
TEST(CopulaCorrelation, SignsFollowTheArcsine) {
  const std::vector<float> two = {-1, 1};
  const CopulaCorrelation signs{CopulaTable(make_empirical(two))};
  constexpr double kPi = 3.14159265358979323846;
  for (const double rho : {0.2, 0.6, 0.9}) {
    EXPECT_NEAR(signs.of_values(rho), 2 / kPi * std::asin(rho), 2e-3) << rho;
  }
}

TEST(CopulaCorrelation, InverseGoesBackAndHeavyTailsNeedMore) {
  for (const char* family : {"laplace", "gamma", "student", "bernoulli-gaussian"}) {
    const CopulaCorrelation correlation =
        correlation_of(family, {.shape = 0.5, .dof = 3, .zeros = 0.5});
    for (const double rho : {0.05, 0.5, 0.95}) {
      const double normals = correlation.of_normals(rho);
      EXPECT_NEAR(correlation.of_values(normals), rho, 1e-9) << family;
      EXPECT_GT(normals, rho) << family;  // no function of normals correlates more than they do
      EXPECT_LT(normals, 1) << family;
    }
    EXPECT_EQ(correlation.of_normals(0), 0);
  }
}

TEST(CopulaCorrelation, ConstantValues) {
  const CopulaCorrelation zeros{CopulaTable(make_empirical({0, 0}))};
  EXPECT_NEAR(zeros.of_normals(0.5), 0.5, 1e-9);
}

}  // namespace

}  // namespace thinpipe
