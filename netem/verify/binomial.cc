#include "netem/verify/binomial.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace thinpipe {

namespace {

// The continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22).
double continued_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300;
  constexpr int kMostSteps = 20000;
  double c = 1, d = 1 / std::max(kTiny, 1 - (a + b) * x / (a + 1)), result = d;
  for (int m = 1; m < kMostSteps; ++m) {
    for (const double term : {m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
                              -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))}) {
      d = 1 + term * d;
      d = 1 / (std::fabs(d) < kTiny ? kTiny : d);
      c = 1 + term / c;
      if (std::fabs(c) < kTiny) c = kTiny;
      result *= c * d;
    }
    if (std::fabs(c * d - 1) < 1e-15) break;
  }
  return result;
}

// The regularized incomplete beta function I_x(a, b).
double beta_probability(double a, double b, double x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log1p(-x));
  // The fraction converges fast on this side of the mean only.
  if (x < (a + 1) / (a + b + 2)) return front * continued_fraction(a, b, x) / a;
  return 1 - front * continued_fraction(b, a, 1 - x) / b;
}

double beta_quantile(double a, double b, double p) {
  double low = 0, high = 1;
  // Bisection: 60 halvings leave less than a double tells apart.
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (beta_probability(a, b, middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

ShareInterval clopper_pearson(double count, double trials, double confidence) {
  const double tail = (1 - confidence) / 2;
  ShareInterval interval;
  if (count > 0) interval.low = beta_quantile(count, trials - count + 1, tail);
  if (count < trials) interval.high = beta_quantile(count + 1, trials - count, 1 - tail);
  return interval;
}

}  // namespace thinpipe
