// Exact draws from distributions by comparing uniforms alone: no logarithm, so the same bits on
// every machine.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "compressors/random.h"

namespace thinpipe::testing {

/// Uniform in [0, 1), 53 bits.
inline double unit(SplitMix64& random) {
  return static_cast<double>(random.next() >> 11) * 0x1p-53;
}

/// True with probability e^-z, 0 <= z <= 1 (von Neumann, 1951): the run of uniforms that descends
/// from z has an even length. It is n or longer with probability z^n / n!.
inline bool survives(SplitMix64& random, double z) {
  bool even = true;
  for (double last = z;; even = !even) {
    const double next = unit(random);
    if (next >= last) return even;
    last = next;
  }
}

/// Density e^-x: whole steps are survived with e^-1 each, the fraction is accepted with e^-x.
inline double exponential(SplitMix64& random) {
  double whole = 0;
  while (survives(random, 1)) ++whole;
  for (;;) {
    const double fraction = unit(random);
    if (survives(random, fraction)) return whole + fraction;
  }
}

/// Standard normal (Karney, 2016, algorithm N): k with probability ~ e^(-k^2 / 2), then x in [0, 1)
/// accepted with e^(-x (2 k + x) / 2).
inline double normal(SplitMix64& random) {
  for (;;) {
    int k = 0;
    while (survives(random, 0.5)) ++k;
    bool kept = true;
    for (int i = k * (k - 1); i > 0 && kept; --i) kept = survives(random, 0.5);
    if (!kept) continue;
    const double x = unit(random);
    const double slope = x * (2 * k + x) / (2 * k + 2);  // at most 1
    for (int i = 0; i <= k && kept; ++i) kept = survives(random, slope);
    if (kept) return random.next() % 2 == 0 ? k + x : -(k + x);
  }
}

/// Of `laplace`, `normals` (the product of two normals), `pareto` (generalised, shape 1/4) and
/// `normal`; unit scale.
inline std::vector<float> drawn(const std::string& distribution, std::size_t n,
                                std::uint64_t seed) {
  SplitMix64 random(SplitMix64::mix(seed) ^ hash_name(distribution));
  std::vector<float> values(n);
  for (float& value : values) {
    double x = 0;
    if (distribution == "laplace") {
      x = exponential(random);
    } else if (distribution == "pareto") {
      // (u^-a - 1) / a; a square root is exact to the last bit everywhere.
      x = 4 * (1 / std::sqrt(std::sqrt(1 - unit(random))) - 1);
    } else {
      x = normal(random);
      if (distribution == "normals") x *= normal(random);
      value = static_cast<float>(x);
      continue;
    }
    value = static_cast<float>(random.next() % 2 == 0 ? x : -x);
  }
  return values;
}

}  // namespace thinpipe::testing
