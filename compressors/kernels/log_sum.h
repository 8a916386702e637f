// A sum of magnitudes and of their logarithms, as a product: on processors and on GPUs.
#pragma once

#include <bit>
#include <cstdint>

#include "base/both.h"
#include "compressors/kernels/exact_math.h"

namespace thinpipe {

/// Rows whose mantissas, each under 2, are multiplied in float before they go into a double.
constexpr std::size_t kProductRows = 64;

/// A magnitude other than 0 is 2^exponent times a mantissa in [1, 2); 0 counts as a mantissa of 1.
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

  /// @param factor  normal and positive
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

}  // namespace thinpipe
