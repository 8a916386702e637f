// Sum and sum of squares in one pass.
#pragma once

#include <span>

namespace thinpipe {

struct Spread {
  double sum = 0;
  double sum_squares = 0;
};

/// In double, by 16 fixed partial sums: the same bits on every machine.
Spread spread(std::span<const float> x);

}  // namespace thinpipe
