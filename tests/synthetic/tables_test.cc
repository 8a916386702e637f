// Tables of distributions, and the arithmetic that makes them alike on all machines.

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "workloads/synthetic/portable_math.h"
#include "workloads/synthetic/tables.h"

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

// For a normal number's sign times a constant it is 2 / pi arcsin rho.
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

void expect_close(double found, double expected, double relative, double at) {
  EXPECT_NEAR(found, expected, relative * std::fabs(expected)) << "at " << at;
}

TEST(PortableMath, ElementaryFunctionsAgreeWithTheStandardLibrary) {
  for (int i = -400; i <= 400; ++i) {
    const double x = std::ldexp(1 + 0.37 * (i % 3 + 3) / 7, i / 2) * (1 + i * 1e-3 / 7);
    // A logarithm near 0 is a difference of numbers near 1: 1e-16 of those.
    EXPECT_NEAR(portable_log(x), std::log(x), 4e-16 * (1 + std::fabs(std::log(x)))) << x;
    expect_close(portable_exp(i * 1.7), std::exp(i * 1.7), 3e-14, i * 1.7);
    const double small = i * 1e-3 / 0.9;
    expect_close(portable_log1p(small), std::log1p(small), 1e-15, small);
    expect_close(portable_expm1(small), std::expm1(small), 1e-14, small);
  }
  for (double x = 0.05; x < 50; x *= 1.3) {
    EXPECT_NEAR(portable_log_gamma(x), std::lgamma(x), 1e-13 * (1 + std::fabs(std::lgamma(x))));
  }
  EXPECT_EQ(portable_exp(-1000), 0);
}

TEST(PortableMath, TailsHaveTheirClosedForms) {
  constexpr double kPi = 3.14159265358979323846;
  for (double x = 1e-8; x < 30; x *= 1.5) {
    expect_close(gamma_tails(1, x).upper, std::exp(-x), 1e-12, x);
    expect_close(gamma_tails(1, x).lower, -std::expm1(-x), 1e-12, x);
    expect_close(gamma_tails(3, x).upper, std::exp(-x) * (1 + x + x * x / 2), 1e-12, x);
    expect_close(gamma_tails(0.5, x).upper, std::erfc(std::sqrt(x)), 1e-11, x);
    expect_close(gamma_tails(0.5, x).lower, std::erf(std::sqrt(x)), 1e-12, x);
    expect_close(student_magnitude_tails(1, x).upper, 2 / kPi * std::atan2(1, x), 1e-12, x);
    expect_close(student_magnitude_tails(1, x).lower, 2 / kPi * std::atan(x), 1e-12, x);
    expect_close(student_magnitude_tails(2, x).lower, x / std::sqrt(2 + x * x), 1e-12, x);
    if (x < 8) expect_close(normal_upper(x), 0.5 * std::erfc(x / std::sqrt(2.0)), 1e-11, x);
    if (x < 8) expect_close(normal_upper(-x), 0.5 * std::erfc(-x / std::sqrt(2.0)), 1e-12, -x);
  }
}

TEST(PortableMath, InversesGoBack) {
  for (double p = 1e-12; p < 0.5; p *= 1.9) {
    expect_close(normal_upper(normal_upper_inverse(p)), p, 1e-10, p);
    EXPECT_NEAR(normal_upper_inverse(1 - p), -normal_upper_inverse(p), 1e-4) << p;
    const auto tails = [](double x) { return gamma_tails(0.3, x); };
    expect_close(tails(invert_tail(tails, p, true)).upper, p, 1e-10, p);
    expect_close(tails(invert_tail(tails, p, false)).lower, p, 1e-10, p);
  }
  EXPECT_EQ(normal_upper_inverse(0.5), 0);
}

// Independent of the machine.
TEST(PortableMath, BitsAreTheSameEverywhere) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (int i = 1; i < 300; ++i) {
    for (const double value :
         {portable_log(i * 0.37), portable_exp(i * 0.11 - 9), portable_log_gamma(i * 0.13),
          gamma_tails(0.7, i * 0.09).upper, student_magnitude_tails(3, i * 0.2).upper,
          normal_upper_inverse(i / 300.0)}) {
      hash = (hash ^ std::bit_cast<std::uint64_t>(value)) * 0x100000001b3;
    }
  }
  EXPECT_EQ(hash, 1279159496471073583U);
}

}  // namespace

}  // namespace thinpipe
