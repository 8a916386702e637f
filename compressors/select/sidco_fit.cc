// The fits.
#include "compressors/select/sidco_fit.h"

#include <cmath>
#include <limits>

#include "compressors/select/distributions.h"

namespace thinpipe {

namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

}  // namespace

FittedShape fit_pareto(double mean, double variance) {
  const double squared = mean * mean / variance;
  if (!std::isfinite(squared)) return {kNone, kNone};
  return {0.5 * (1 - squared), 0.5 * mean * (squared + 1)};
}

FittedShape fit_gamma(double mean, double mean_log) {
  const double s = std::log(mean) - mean_log;
  const double shape = (3 - s + std::sqrt((s - 3) * (s - 3) + 24 * s)) / (12 * s);
  if (!(s > 0) || !std::isfinite(shape)) return {kNone, kNone};
  return {shape, mean / shape};
}

double exponential_excess(double mean, double delta) { return mean * -std::log(delta); }

double pareto_excess(double mean, double variance, double delta) {
  constexpr double kExponential = 1e-6;  // |a| below which the limit is more accurate
  const auto [a, b] = fit_pareto(mean, variance);
  if (std::isnan(a)) return mean;
  if (std::fabs(a) < kExponential) return exponential_excess(b, delta);
  return b / a * std::expm1(-a * std::log(delta));
}

double gamma_excess(double mean, double mean_log, double delta, bool exact) {
  const auto [shape, scale] = fit_gamma(mean, mean_log);
  if (std::isnan(shape)) return exponential_excess(mean, delta);
  if (exact) return scale * gamma_exceeded(shape, delta);
  return -scale * (std::log(delta) + log_gamma(shape));
}

}  // namespace thinpipe
