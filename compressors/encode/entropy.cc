// Shannon's bound for positions.
#include "compressors/encode/entropy.h"

#include <cmath>
#include <numbers>

namespace thinpipe {

double position_entropy_bits(double density) {
  if (density >= 1) return 0;
  // log1p keeps the second term's digits where the density is small.
  return -std::log2(density) - (1 - density) / density * std::log1p(-density) * std::numbers::log2e;
}

}  // namespace thinpipe
