// Statistics of a tensor in one pass, the same bits on every machine.
#pragma once

#include <cstddef>
#include <span>

namespace thinpipe {

struct Moments {
  double sum_magnitude = 0;  ///< sum of |x|
  float max_magnitude = 0;   ///< by the bits of |x|: NaN > infinity > finite; 0 when empty
  std::size_t count = 0;
};

/// Sums go through 64 fixed partial sums in float, emptied into doubles every few thousand
/// elements, however wide the vectors are: results do not depend on the machine.
Moments magnitude_moments(std::span<const float> x);

/// Sum of x^2 in double, by 16 fixed partial sums.
double sum_of_squares(std::span<const float> x);

}  // namespace thinpipe
