#include "workloads/synthetic/portable_math.h"

#include <cmath>

namespace thinpipe {
namespace {

constexpr double kLn2 = 0.69314718055994530942;
// kLn2 in two summands: 32 bits, whose products with exponents are exact, and the remainder.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 1.90821492927058770002e-10;
constexpr double kTiny = 1e-300;
constexpr double kEpsilon = 1e-16;
constexpr int kMaxTerms = 20000;

/// Continued fraction of the incomplete beta function by Lentz's method (DLMF 8.17.22).
double beta_fraction(double a, double b, double x) {
  const auto guard = [](double value) { return std::fabs(value) < kTiny ? kTiny : value; };
  double c = 1;
  double d = 1 / guard(1 - (a + b) * x / (a + 1));
  double fraction = d;
  for (int m = 1; m <= kMaxTerms; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / guard(1 + even * d);
    c = guard(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / guard(1 + odd * d);
    c = guard(1 + odd / c);
    fraction *= d * c;
    if (std::fabs(d * c - 1) < kEpsilon) break;
  }
  return fraction;
}

}  // namespace

double portable_log(double x) {
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // in [0.5, 1)
  if (m < 0.70710678118654752440) {
    m *= 2;
    --exponent;
  }
  // log m = 2 artanh s; |s| < 0.172, so that the terms fall by 34 each.
  const double s = (m - 1) / (m + 1), square = s * s;
  double sum = 0;
  for (int k = 25; k >= 3; k -= 2) sum = (sum + 1.0 / k) * square;
  return exponent * kLn2High + (exponent * kLn2Low + 2 * s + 2 * s * sum);
}

double portable_exp(double y) {
  if (y < -690) return 0;
  const double n = std::floor(y / kLn2 + 0.5);
  const double r = (y - n * kLn2High) - n * kLn2Low;  // |r| < 0.35
  double sum = 1;
  for (int k = 17; k >= 1; --k) sum = 1 + sum * r / k;
  return std::ldexp(sum, static_cast<int>(n));
}

double portable_log1p(double y) {
  const double u = 1 + y;
  if (u == 1) return y;
  return portable_log(u) * (y / (u - 1));  // corrects the rounding of 1 + y (Kahan)
}

double portable_expm1(double y) {
  if (std::fabs(y) > 0.3) return portable_exp(y) - 1;
  double sum = 0;
  for (int k = 17; k >= 2; --k) sum = (sum + 1) * y / k;
  return y * (1 + sum);
}

double portable_log_gamma(double x) {
  // Stirling's series (DLMF 5.11.1) from 15 on; the recurrence below 15.
  double product = 1;
  while (x < 15) {
    product *= x;
    x += 1;
  }
  const double inverse = 1 / x, square = inverse * inverse;
  const double series =
      inverse *
      (1.0 / 12 -
       square * (1.0 / 360 - square * (1.0 / 1260 - square * (1.0 / 1680 - square / 1188))));
  constexpr double kHalfLogTwoPi = 0.91893853320467274178;
  return (x - 0.5) * portable_log(x) - x + kHalfLogTwoPi + series - portable_log(product);
}

Tails gamma_tails(double shape, double x) {
  if (x < 1e-290) return {0, 1};
  const double front = portable_exp(shape * portable_log(x) - x - portable_log_gamma(shape));
  if (x < shape + 1) {  // the series, DLMF 8.11.4
    double term = 1 / shape, sum = term;
    for (int n = 1; n <= kMaxTerms && term > sum * kEpsilon; ++n) {
      term *= x / (shape + n);
      sum += term;
    }
    const double lower = front * sum;
    return {lower, 1 - lower};
  }
  double b = x + 1 - shape, c = 1 / kTiny, d = 1 / b, fraction = d;  // DLMF 8.9.2, by Lentz
  for (int n = 1; n <= kMaxTerms; ++n) {
    const double a = -n * (n - shape);
    b += 2;
    d = 1 / (a * d + b);
    c = b + a / c;
    fraction *= d * c;
    if (std::fabs(d * c - 1) < kEpsilon) break;
  }
  const double upper = front * fraction;
  return {1 - upper, upper};
}

Tails normal_magnitude_tails(double x) { return gamma_tails(0.5, 0.5 * x * x); }

Tails student_magnitude_tails(double degrees_of_freedom, double x) {
  if (x < 1e-140) return {0, 1};
  if (x > 1e140) return {1, 0};
  const double a = 0.5, b = 0.5 * degrees_of_freedom;
  const double u = x * x / (degrees_of_freedom + x * x);
  const double w = degrees_of_freedom / (degrees_of_freedom + x * x);
  const double front =
      portable_exp(a * portable_log(u) + b * portable_log(w) + portable_log_gamma(a + b) -
                   portable_log_gamma(a) - portable_log_gamma(b));
  if (u < (a + 1) / (a + b + 2)) {
    const double lower = front * beta_fraction(a, b, u) / a;
    return {lower, 1 - lower};
  }
  const double upper = front * beta_fraction(b, a, w) / b;
  return {1 - upper, upper};
}

double normal_upper(double z) {
  const Tails tails = normal_magnitude_tails(std::fabs(z));
  return z >= 0 ? 0.5 * tails.upper : 0.5 + 0.5 * tails.lower;
}

double normal_upper_inverse(double p) {
  if (p == 0.5) return 0;
  // Solves one of two equivalent equations for z > 0: P(|Z| > z) = 2 min(p, 1 - p) or P(|Z| < z) =
  // |1 - 2p|. Chooses the equation with the smaller probability.
  const double tail = p < 0.5 ? p : 1 - p;
  const bool upper = tail < 0.25;
  const double z = invert_tail(normal_magnitude_tails, upper ? 2 * tail : 2 * (0.5 - tail), upper);
  return p < 0.5 ? z : -z;
}

}  // namespace thinpipe
