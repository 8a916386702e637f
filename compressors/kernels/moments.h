// Statistics of a tensor in one pass, the same bits on every machine and any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "compressors/kernels/sum.h"

namespace thinpipe {

struct Moments {
  double sum_magnitude = 0;  ///< sum of |x|
  float max_magnitude = 0;   ///< by the bits of |x|: NaN > infinity > finite; 0 when empty
  std::size_t count = 0;
};

/// Sums go through 64 fixed partial sums in float, emptied into doubles every few thousand
/// elements, and these into one sum for every 1/64 of the tensor, however wide the vectors are and
/// however many threads add: results do not depend on the machine.
Moments magnitude_moments(std::span<const float> x);

/// The same of the sum, which is computed and stored in the same pass.
Moments moments_of_sum(const PendingSum& sum);

/// What of the tensor lies above a limit.
struct TailMoments {
  double sum_magnitude = 0;  ///< sum of |x| over magnitude keys >= the limit
  std::size_t count = 0;
};

/// Of the elements with key_of(x, KeyOrder::kMagnitude) >= limit; summed as magnitude_moments().
TailMoments tail_moments(std::span<const float> x, std::int32_t limit);

/// Sum of x^2, in the same order, all of it in double.
double sum_of_squares(std::span<const float> x);

}  // namespace thinpipe
