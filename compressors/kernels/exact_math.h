// Logarithms and exponentials that are the same bits on every machine, GPUs included: additions,
// multiplications and divisions only, each rounded as IEEE 754 says. Within a few units in the last
// place of a double.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/both.h"

namespace thinpipe {

// ln 2 in two parts: products of the first with small integers are exact (as in fdlibm).
constexpr double kLn2High = 6.93147180369123816490e-01;
constexpr double kLn2Low = 1.90821492927058770002e-10;

/// ln x.
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
  // ln m = 2 artanh s, s = (m - 1) / (m + 1): s^2 < 0.0295, whose 11th power is less than 2^-55.
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double series = 0;
  for (int n = 10; n > 0; --n) series = (series + 1.0 / (2 * n + 1)) * square;
  return exponent * kLn2High + (2 * s + (2 * s * series + exponent * kLn2Low));
}

/// e^x - 1.
THINPIPE_BOTH inline double exact_expm1(double x) {
  if (x != x) return x;
  if (x > 709) return std::numeric_limits<double>::infinity();
  if (x < -50) return -1;
  const double powers = std::floor(x * 1.4426950408889634 + 0.5);
  const double rest = x - powers * kLn2High - powers * kLn2Low;  // at most 0.35
  // Taylor: 0.35^17 / 17! is less than 2^-70.
  double series = 0;
  for (int n = 17; n > 1; --n) series = (series + 1) * rest / n;
  const double less_one = rest * (1 + series);
  const auto power = static_cast<std::int64_t>(powers);
  const double scale = std::bit_cast<double>(static_cast<std::uint64_t>(power + 1023) << 52);
  return scale * less_one + (scale - 1);
}

/// e^x; 0 below -708.
THINPIPE_BOTH inline double exact_exp(double x) {
  if (x != x) return x;
  if (x > 709) return std::numeric_limits<double>::infinity();
  if (x < -708) return 0;
  const double powers = std::floor(x * 1.4426950408889634 + 0.5);
  const double rest = x - powers * kLn2High - powers * kLn2Low;
  double series = 0;
  for (int n = 17; n > 1; --n) series = (series + 1) * rest / n;
  const auto power = static_cast<std::int64_t>(powers);
  const double scale = std::bit_cast<double>(static_cast<std::uint64_t>(power + 1023) << 52);
  return scale * (1 + rest * (1 + series));
}

/// ln of the gamma function of x > 0, by Stirling's series from 10 on.
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

}  // namespace thinpipe
