// Distribution functions from which thresholds are computed; scalars only.
#pragma once

namespace thinpipe {

/// Returns the x that a standard normal variable stays below with probability p in (0, 1).
double normal_quantile(double p);

/// Returns the probability that a gamma variable of this shape and scale 1 is at most x. shape > 0,
/// x >= 0.
double gamma_below(double shape, double x);

/// Returns the probability that a standard normal variable is at most x.
double normal_below(double x);

}  // namespace thinpipe
