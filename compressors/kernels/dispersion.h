// Mean and variance of a tensor in one pass, the same bits on every machine.
#pragma once

#include <cstddef>
#include <span>

#include "base/both.h"

namespace thinpipe {

struct Dispersion {
  double sum = 0;
  double squares = 0;  ///< sum of x^2
  std::size_t count = 0;

  THINPIPE_BOTH double mean() const { return sum / static_cast<double>(count); }
  /// Of the whole tensor (divided by the count); never negative.
  THINPIPE_BOTH double variance() const {
    const double difference = squares / static_cast<double>(count) - mean() * mean();
    return difference < 0 ? 0 : difference;
  }
};

/// Of the values as they are and of their magnitudes. Sums go through partial sums in double, in
/// the order of moments_order.h, so that neither huge nor denormal values overflow or vanish when
/// squared.
Dispersion signed_dispersion(std::span<const float> x);
Dispersion magnitude_dispersion(std::span<const float> x);

struct Spread : Dispersion {
  float max_magnitude = 0;  ///< by bits: NaN > infinity > finite; 0 when empty
};
/// Of the values as they are, in the same pass as the greatest magnitude.
Spread signed_spread(std::span<const float> x);

}  // namespace thinpipe
