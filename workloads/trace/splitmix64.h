// A small seeded generator that gives the same stream on every machine and compiler.
#pragma once

#include <cmath>
#include <cstdint>

namespace thinpipe {

/// SplitMix64 (Steele, Lea, Flood 2014). The standard library's engines are portable too, but its
/// distributions are not, so the few that are needed stand here.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

  /// Uniform in (0, 1): 53 bits, half a step off zero, so that its logarithm is finite.
  double uniform() { return (static_cast<double>(next() >> 11) + 0.5) * 0x1.0p-53; }
  double uniform(double low, double high) { return low + (high - low) * uniform(); }

  /// Uniform in [0, bound); the bias of the modulus is below 2^-32 for any bound below 2^32.
  std::uint64_t below(std::uint64_t bound) { return next() % bound; }

  /// Standard normal, by Box and Muller; one of the pair is thrown away for simplicity.
  double normal() {
    constexpr double kTwoPi = 6.283185307179586;
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(kTwoPi * uniform());
  }

 private:
  std::uint64_t state_;
};

}  // namespace thinpipe
