// Sum, sum of squares and greatest magnitude in one pass.
#pragma once

#include <span>

namespace thinpipe {

struct Spread {
  double sum = 0;
  double sum_squares = 0;
  float max_magnitude = 0;  ///< by bits: NaN > infinity > finite; 0 when empty
};

/// In double, by 16 fixed partial sums for every 1/64 of the array: the same bits on every machine
/// and any number of threads.
Spread spread(std::span<const float> x);

}  // namespace thinpipe
