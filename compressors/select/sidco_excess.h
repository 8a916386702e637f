// What the fits of SIDCo come to, on processors and on GPUs. select/sidco_fit.h says what they are.
#pragma once

#include <cmath>
#include <limits>

#include "compressors/kernels/exact_gamma.h"
#include "compressors/kernels/exact_math.h"
#include "compressors/select/sidco_fit.h"

namespace thinpipe {

namespace sidco {
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
}

THINPIPE_BOTH inline FittedShape pareto_shape(double mean, double variance) {
  const double squared = mean * mean / variance;
  if (!std::isfinite(squared)) return {sidco::kNone, sidco::kNone};
  return {0.5 * (1 - squared), 0.5 * mean * (squared + 1)};
}

THINPIPE_BOTH inline FittedShape gamma_shape(double mean, double mean_log) {
  const double s = exact_log(mean) - mean_log;
  const double shape = (3 - s + std::sqrt((s - 3) * (s - 3) + 24 * s)) / (12 * s);
  if (!(s > 0) || !std::isfinite(shape)) return {sidco::kNone, sidco::kNone};
  return {shape, mean / shape};
}

// `rarity` is ln(1 / delta), which is the host's.

THINPIPE_BOTH inline double pareto_excess_of(double mean, double variance, double rarity) {
  constexpr double kExponential = 1e-6;  // |a| below which the limit is more accurate
  const FittedShape fit = pareto_shape(mean, variance);
  if (fit.shape != fit.shape) return mean;
  if (std::fabs(fit.shape) < kExponential) return fit.scale * rarity;
  return fit.scale / fit.shape * exact_expm1(fit.shape * rarity);
}

THINPIPE_BOTH inline double gamma_excess_of(double mean, double mean_log, double rarity) {
  const FittedShape fit = gamma_shape(mean, mean_log);
  if (fit.shape != fit.shape) return mean * rarity;
  return fit.scale * (rarity - exact_log_gamma(fit.shape));
}

/// By the quantile itself, of a share delta.
THINPIPE_BOTH inline double gamma_exact_excess_of(double mean, double mean_log, double delta,
                                                  double rarity) {
  const FittedShape fit = gamma_shape(mean, mean_log);
  if (fit.shape != fit.shape) return mean * rarity;
  return fit.scale * exact_gamma_exceeded(fit.shape, delta);
}

}  // namespace thinpipe
