// Seeded random draws for generated data and synthetic traces.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/splitmix64.h"

namespace thinpipe {

/// Draws random numbers from a SplitMix64 stream. The standard library's engines are portable, but
/// its distributions are not, so this class implements the few distributions that are needed. The
/// numbers that it draws must not change, because the captures and synthetic traces of a seed
/// depend on every one of these numbers.
class Draws {
 public:
  explicit Draws(std::uint64_t seed) : stream_(seed) {}

  /// Returns a uniform value in (0, 1) with 53 random bits. Half a step is added to each value, so
  /// that no value is 0 and every logarithm is finite.
  double uniform() { return (static_cast<double>(stream_.next() >> 11) + 0.5) * 0x1.0p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }

  /// Returns a uniform integer in [0, bound); the modulus's bias is below 2^-32 for bounds below
  /// 2^32.
  std::uint64_t below(std::uint64_t bound) { return stream_.next() % bound; }

  /// Returns a standard normal value by Box and Muller; the second of each pair is discarded for
  /// simplicity.
  double normal() {
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(kTwoPi * uniform());
  }

  /// Returns a Laplace value of the scale b by the inverse of the distribution function.
  float laplace(double scale) {
    const double centred = uniform() - 0.5;
    return static_cast<float>(std::copysign(scale * std::log1p(-2 * std::fabs(centred)), -centred));
  }

 private:
  SplitMix64 stream_;
};

}  // namespace thinpipe
