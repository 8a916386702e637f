// Thresholds of the distributions that SIDCo fits; from moments, in double.
#pragma once

namespace thinpipe {

/// A distribution of magnitudes with a shape and a scale. NaN both where there is no fit.
struct FittedShape {
  double shape = 0;
  double scale = 0;
};

/// Generalised Pareto by moments (SIDCo eqs. 28 and 29); the shape is below 1/2. No fit without
/// variance.
FittedShape fit_pareto(double mean, double variance);

/// Gamma by the mean and the mean of the logarithms, in closed form (eq. 16). No fit where the
/// logarithm of the mean is not above the mean of the logarithms.
FittedShape fit_gamma(double mean, double mean_log);

// Each returns how far above the location a share `delta` in (0, 1] of the fitted distribution
// lies; moments are those of the excess over the location.

/// Exponential: mean * ln(1 / delta) (SIDCo eqs. 6, 10 and 11).
double exponential_excess(double mean, double delta);

/// Generalised Pareto by moments (eqs. 7 to 9, 28 and 29): with a = (1 - mean^2 / variance) / 2 and
/// b = mean (mean^2 / variance + 1) / 2: b / a (e^(-a ln delta) - 1); its limit b ln(1 / delta)
/// for |a| < 1e-6, and its limit for no variance, the mean.
double pareto_excess(double mean, double variance, double delta);

/// Gamma (eqs. 15 and 16), from the mean of the logarithms too: with s = ln mean - mean_log,
/// shape = (3 - s + sqrt((s - 3)^2 + 24 s)) / (12 s) and scale = mean / shape:
/// -scale (ln delta + ln Gamma(shape)), which may be negative; `exact`: the scale times the
/// quantile itself. Where s is not positive, because zeros have no logarithm but count in the mean,
/// or because all magnitudes are equal, there is no fit: exponential.
double gamma_excess(double mean, double mean_log, double delta, bool exact);

}  // namespace thinpipe
