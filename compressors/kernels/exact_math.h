// Logarithms, exponentials and quantiles with the same bits on every machine, GPUs included. They
// use only additions, multiplications, divisions and square roots, each rounded as IEEE 754
// defines. Logarithms and exponentials are within a few units in the last place of a double.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "base/both.h"

namespace thinpipe {

// ln 2 in two parts: products of the first with small integers are exact (as in fdlibm).
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;

/// Returns ln x.
THINPIPE_BOTH inline double exact_log(double x) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kSqrt2 = 1.4142135623730951;
  if (!(x > 0)) return x == 0 ? -kInfinity : std::numeric_limits<double>::quiet_NaN();
  if (x == kInfinity) return x;
  int exponent = 0;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    exponent = -54;
  }
  const auto bits = std::bit_cast<std::uint64_t>(x);
  exponent += static_cast<int>(bits >> 52) - 1023;
  double mantissa = std::bit_cast<double>((bits & 0xfffffffffffff) | 0x3ff0000000000000);
  if (mantissa > kSqrt2) {
    mantissa *= 0.5;
    ++exponent;
  }
  // Uses ln m = 2 artanh s with s = (m - 1) / (m + 1). The series stops before the 11th power of
  // s^2, which is less than 2^-55, because s^2 < 0.0295.
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double series = 0;
  for (int n = 10; n > 0; --n) series = (series + 1.0 / (2 * n + 1)) * square;
  return exponent * kLn2High + (2 * s + (2 * s * series + exponent * kLn2Low));
}

/// e^x as the product scale * (1 + less_one), scale a power of two.
struct ExpParts {
  double scale;
  double less_one;
};

/// Returns the parts of e^x for x in [-708, 709].
THINPIPE_BOTH inline ExpParts exp_parts(double x) {
  const double powers = std::floor(x * 1.4426950408889634 + 0.5);
  const double rest = x - powers * kLn2High - powers * kLn2Low;  // at most 0.35
  // Taylor: 0.35^17 / 17! is less than 2^-70.
  double series = 0;
  for (int n = 17; n > 1; --n) series = (series + 1) * rest / n;
  const auto power = static_cast<std::int64_t>(powers);
  return {std::bit_cast<double>(static_cast<std::uint64_t>(power + 1023) << 52),
          rest * (1 + series)};
}

/// Returns e^x - 1.
THINPIPE_BOTH inline double exact_expm1(double x) {
  if (x != x) return x;
  if (x > 709) return std::numeric_limits<double>::infinity();
  if (x < -50) return -1;
  const ExpParts parts = exp_parts(x);
  return parts.scale * parts.less_one + (parts.scale - 1);
}

/// Returns e^x; 0 below -708.
THINPIPE_BOTH inline double exact_exp(double x) {
  if (x != x) return x;
  if (x > 709) return std::numeric_limits<double>::infinity();
  if (x < -708) return 0;
  const ExpParts parts = exp_parts(x);
  return parts.scale * (1 + parts.less_one);
}

/// Returns ln of the gamma function of x > 0, by Stirling's series from 10 on.
THINPIPE_BOTH inline double exact_log_gamma(double x) {
  constexpr double kHalfLog2Pi = 0.91893853320467274178;
  if (!(x < std::numeric_limits<double>::infinity())) return x;
  double product = 1;
  for (; x < 10; x += 1) product *= x;
  const double inverse = 1 / x;
  const double square = inverse * inverse;
  double series = -691.0 / 360360;
  series = series * square + 1.0 / 1188;
  series = series * square - 1.0 / 1680;
  series = series * square + 1.0 / 1260;
  series = series * square - 1.0 / 360;
  series = series * square + 1.0 / 12;
  return ((x - 0.5) * exact_log(x) - x) + kHalfLog2Pi + series * inverse - exact_log(product);
}

// A sum of magnitudes and of their logarithms, as a product: on CPUs and on GPUs.

/// Rows whose mantissas, each under 2, are multiplied in float before they are multiplied into a
/// double.
constexpr std::size_t kProductRows = 64;

/// A magnitude split into 2^exponent times a mantissa in [1, 2); 0 counts as a mantissa of 1.
struct SplitMagnitude {
  float mantissa = 1;
  std::int32_t exponent = 0;
  bool nonzero = false;

  THINPIPE_BOTH explicit SplitMagnitude(float x) {
    constexpr std::int32_t kNormal = 0x00800000;
    std::int32_t bits = std::bit_cast<std::int32_t>(x) & 0x7fffffff;
    if (bits == 0) return;
    nonzero = true;
    if (bits < kNormal) {
      bits = std::bit_cast<std::int32_t>(std::bit_cast<float>(bits) * 0x1p24F);
      exponent = -24;
    }
    exponent += (bits >> 23) - 127;
    mantissa = std::bit_cast<float>((bits & 0x007fffff) | 0x3f800000);
  }
};

struct LogSum {
  double sum = 0;
  double mantissa = 1;  ///< of the product, in [1, 2)
  std::int64_t exponent = 0;
  std::uint64_t nonzero = 0;

  /// Multiplies the product. @param factor  normal and positive
  THINPIPE_BOTH void multiply(double factor) {
    const auto bits = std::bit_cast<std::uint64_t>(factor);
    exponent += static_cast<std::int64_t>(bits >> 52) - 1023;
    mantissa *= std::bit_cast<double>((bits & 0xfffffffffffff) | 0x3ff0000000000000);
    if (mantissa >= 2) {
      mantissa *= 0.5;
      ++exponent;
    }
  }
  THINPIPE_BOTH void join(const LogSum& other) {
    sum += other.sum;
    multiply(other.mantissa);
    exponent += other.exponent;
    nonzero += other.nonzero;
  }
  THINPIPE_BOTH double log() const {
    constexpr double kLn2 = 0.6931471805599453;
    return static_cast<double>(exponent) * kLn2 + exact_log(mantissa);
  }
};

// Quantiles of the gamma distribution. They agree with Boost.Math's to 1e-10.

/// Fractions of a gamma distribution of scale 1 below and above x, each to its own precision.
struct GammaShares {
  double below = 0;
  double above = 1;
  double density = 0;  ///< x times the density at x: the fraction's derivative by ln x
};

/// Returns the fractions of a gamma distribution below and above x = e^log_x. Uses a power series
/// for x up to the mean plus 1, and a continued fraction above it (Abramowitz and Stegun 6.5.29 and
/// 6.5.31; the latter as Lentz evaluates it).
THINPIPE_BOTH inline GammaShares gamma_shares(double shape, double log_x) {
  constexpr double kEnough = 0x1p-54;
  constexpr int kMaxTerms = 100'000;
  const double x = exact_exp(log_x);
  GammaShares shares;
  shares.density = exact_exp(shape * log_x - x - exact_log_gamma(shape));
  if (x < shape + 1) {
    double term = 1 / shape;
    double sum = term;
    for (int n = 1; n < kMaxTerms && term > sum * kEnough; ++n) {
      term = term * x / (shape + n);
      sum += term;
    }
    shares.below = shares.density * sum;
    shares.above = 1 - shares.below;
    return shares;
  }
  constexpr double kTiny = 1e-300;
  double b = x + 1 - shape;
  double c = 1 / kTiny;
  double d = 1 / b;
  double fraction = d;
  for (int n = 1; n < kMaxTerms; ++n) {
    const double a = -n * (n - shape);
    b += 2;
    d = a * d + b;
    if (std::fabs(d) < kTiny) d = kTiny;
    c = b + a / c;
    if (std::fabs(c) < kTiny) c = kTiny;
    d = 1 / d;
    const double factor = d * c;
    fraction *= factor;
    if (std::fabs(factor - 1) < kEnough) break;
  }
  shares.above = shares.density * fraction;
  shares.below = 1 - shares.above;
  return shares;
}

/// Returns the x that a fraction p of a normal distribution exceeds, by the ratio of polynomials of
/// Wichura's algorithm AS 241 ("The percentage points of the normal distribution", 1988), to 1e-16.
THINPIPE_BOTH inline double exact_normal_exceeded(double p) {
  const auto ratio = [](const double(&above)[8], const double(&below)[8], double r) {
    double a = above[7];
    double b = below[7];
    for (int i = 6; i >= 0; --i) {
      a = a * r + above[i];
      b = b * r + below[i];
    }
    return a / b;
  };
  const double q = 0.5 - p;
  if (std::fabs(q) <= 0.425) {
    constexpr double kAbove[8] = {3.3871328727963666080e0,  1.3314166789178437745e+2,
                                  1.9715909503065514427e+3, 1.3731693765509461125e+4,
                                  4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                  3.3430575583588128105e+4, 2.5090809287301226727e+3};
    constexpr double kBelow[8] = {1.0,
                                  4.2313330701600911252e+1,
                                  6.8718700749205790830e+2,
                                  5.3941960214247511077e+3,
                                  2.1213794301586595867e+4,
                                  3.9307895800092710610e+4,
                                  2.8729085735721942674e+4,
                                  5.2264952788528545610e+3};
    return q * ratio(kAbove, kBelow, 0.180625 - q * q);
  }
  const double tail = q < 0 ? 1 - p : p;
  const double r = std::sqrt(-exact_log(tail));
  double x = 0;
  if (r <= 5) {
    constexpr double kAbove[8] = {1.42343711074968357734e0,  4.63033784615654529590e0,
                                  5.76949722146069140550e0,  3.64784832476320460504e0,
                                  1.27045825245236838258e0,  2.41780725177450611770e-1,
                                  2.27238449892691845833e-2, 7.74545014278341407640e-4};
    constexpr double kBelow[8] = {1.0,
                                  2.05319162663775882187e0,
                                  1.67638483018380384940e0,
                                  6.89767334985100004550e-1,
                                  1.48103976427480074590e-1,
                                  1.51986665636164571966e-2,
                                  5.47593808499534494600e-4,
                                  1.05075007164441684324e-9};
    x = ratio(kAbove, kBelow, r - 1.6);
  } else {
    constexpr double kAbove[8] = {6.65790464350110377720e0,  5.46378491116411436990e0,
                                  1.78482653991729133580e0,  2.96560571828504891230e-1,
                                  2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                  2.71155556874348757815e-5, 2.01033439929228813265e-7};
    constexpr double kBelow[8] = {1.0,
                                  5.99832206555887937690e-1,
                                  1.36929880922735805310e-1,
                                  1.48753612908506148525e-2,
                                  7.86869131145613259100e-4,
                                  1.84631831751005468180e-5,
                                  1.42151175831644588870e-7,
                                  2.04426310338993978564e-15};
    x = ratio(kAbove, kBelow, r - 5);
  }
  return q < 0 ? -x : x;
}

/// Returns the x that a fraction p in (0, 1] of a gamma distribution of scale 1 exceeds; 0 where it
/// is less than e^-700.
THINPIPE_BOTH inline double exact_gamma_exceeded(double shape, double p) {
  /// Least shape for which the Cornish-Fisher expansion replaces the series. From this shape on,
  /// the expansion is as exact, and the series need many terms.
  constexpr double kNearlyNormal = 20'000;
  constexpr double kSqrt2 = 1.4142135623730951;
  if (!(p < 1)) return 0;
  if (shape >= kNearlyNormal) {
    // Quantile of chi-square with n = 2 shape degrees of freedom (Goldberg and Levine, 1946).
    const double z = exact_normal_exceeded(p);
    const double z2 = z * z;
    const double n = 2 * shape;
    const double root = std::sqrt(n);
    double x = n + kSqrt2 * root * z + 2.0 / 3 * (z2 - 1);
    x += z * (z2 - 7) / (9 * kSqrt2 * root);
    x -= (6 * z2 * z2 + 14 * z2 - 32) / (405 * n);
    x += z * (9 * z2 * z2 + 256 * z2 - 433) / (4860 * kSqrt2 * n * root);
    return x / 2;
  }
  // Newton's method solves for ln x. It uses the logarithm of the smaller fraction (below or above
  // x), which is a nearly straight function of ln x. If a Newton step leaves the bracket, the
  // bracket is halved instead.
  constexpr int kMaxSteps = 200;
  constexpr double kStep = 0x1p-50;
  double low = -700;
  double high = exact_log(shape + 40 * std::sqrt(shape) + 800);
  if (gamma_shares(shape, low).above <= p) return 0;
  const bool upper = p < 0.5;
  const double target = exact_log(upper ? p : 1 - p);
  double at = exact_log(shape);
  for (int step = 0; step < kMaxSteps; ++step) {
    const GammaShares shares = gamma_shares(shape, at);
    (shares.above > p ? low : high) = at;
    const double share = upper ? shares.above : shares.below;
    const double move = (exact_log(share) - target) * share / shares.density;
    double next = upper ? at + move : at - move;
    if (!(next > low && next < high)) next = low + (high - low) / 2;
    const double moved = std::fabs(next - at);
    at = next;
    if (moved <= kStep * (1 + std::fabs(at))) break;
  }
  return exact_exp(at);
}

}  // namespace thinpipe
