// How sure one can be of a share after counting.
#pragma once

namespace thinpipe {

struct ShareInterval {
  double low = 0, high = 1;
  bool holds(double value) const { return low <= value && value <= high; }
};

/// The share of successes of which `count` among `trials` were seen, with at least the given
/// confidence: Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the
/// case of the binomial", Biometrika 26 (1934), by quantiles of the beta distribution. Neither
/// number need be whole: of draws that come in company fewer count.
ShareInterval clopper_pearson(double count, double trials, double confidence);

}  // namespace thinpipe
