#include "workloads/predict/density.h"

#include <algorithm>
#include <cmath>

namespace thinpipe {

double worst_density(double density, double summands) { return std::min(1.0, density * summands); }

double independent_density(double density, double summands) {
  if (density >= 1) return summands > 0 ? 1 : 0;
  // Of small densities 1 - (1 - density)^n would lose all digits.
  return -std::expm1(summands * std::log1p(-density));
}

}  // namespace thinpipe
