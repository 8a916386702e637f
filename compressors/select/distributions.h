// The few distribution functions that thresholds are computed from; scalars only.
#pragma once

namespace thinpipe {

/// The x that a standard normal variable stays below with probability p in (0, 1).
double normal_quantile(double p);

/// The x that a gamma variable of this shape and scale 1 exceeds with probability p in (0, 1].
/// shape > 0.
double gamma_exceeded(double shape, double p);

/// The probability that a gamma variable of this shape and scale 1 is at most x. shape > 0, x >= 0.
double gamma_below(double shape, double x);

/// The probability that a standard normal variable is at most x.
double normal_below(double x);

}  // namespace thinpipe
