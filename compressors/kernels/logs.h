// Mean of the logarithms of a tensor's magnitudes, beside the sum of these, in one pass.
#pragma once

#include <cstddef>
#include <span>

namespace thinpipe {

struct LogMoments {
  double sum_magnitude = 0;  ///< sum of |x|
  double sum_log = 0;        ///< sum of ln |x| over the elements that are not 0
  std::size_t nonzero = 0;
  std::size_t count = 0;
};

/// A logarithm of a product replaces those of its factors: exponents are summed as integers and
/// mantissas, each in [1, 2), multiplied, 64 of them in float before they go into a double.
/// No element's logarithm is computed, and all machines get the same bits. Every product is rounded once, by at most 2^-24 of it, so that the mean of the
/// logarithms is within 2^-24 = 6e-8 of the exact one. NaN and infinity give a meaningless result.
LogMoments log_moments(std::span<const float> x);

}  // namespace thinpipe
