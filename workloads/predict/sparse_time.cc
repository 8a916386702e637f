#include "workloads/predict/sparse_time.h"

#include <algorithm>

#include "workloads/predict/density.h"

namespace thinpipe {

double sparse_doubling_time(int ranks, double bytes, double density, double dense,
                            Overlapping places, const LinkFigures& link) {
  if (density <= 0) return 0;
  double alpha = 0, carried = 0;
  for (double summed = 1; summed < ranks; summed *= 2) {
    const double filled = places == Overlapping::kNone ? worst_density(density, summed)
                                                       : independent_density(density, summed);
    carried += std::min(dense, bytes * filled / density);
    alpha += link.alpha;
  }
  return alpha + link.seconds(carried);
}

}  // namespace thinpipe
