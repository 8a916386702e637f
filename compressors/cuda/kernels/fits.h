// Thresholds from statistics, computed on the GPU: no round trip to the host.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/kernels/keys.h"
#include "compressors/kernels/sums.h"
#include "compressors/methods/sidco.h"

namespace thinpipe::cuda {

THINPIPE_KERNEL inline void set_threshold(const Job& job, double threshold) {
  job.findings->threshold = threshold;
  job.findings->limit = static_cast<std::uint32_t>(key_above(threshold));
}

/// Fits an exponential distribution to all magnitudes (SIDCo eq. 6).
struct FitExponential {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    set_threshold(job, totals.count == 0 ? 0 : totals.sum / totals.count * job.factor);
  }
};

/// Returns the magnitude at which the tail begins that SIDCo fits in its second and later stages.
/// This is the previous stage's threshold or (`from_least`, with LeastOf sums) the minimum
/// magnitude above it.
template <bool from_least>
THINPIPE_KERNEL double location_of(const Job& job, const Totals& totals) {
  if (!from_least) return job.findings->threshold;
  return static_cast<double>(magnitude_of(static_cast<std::int32_t>(kMaxKey - totals.most)));
}

/// Fits an exponential distribution to the excess of magnitudes over the previous stage's threshold
/// (SIDCo eqs. 10 and 11). If no magnitude exceeds it, the threshold stays.
template <bool from_least = false>
struct FitExponentialTail {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    if (totals.count == 0) return;
    const double location = location_of<from_least>(job, totals);
    const double excess = (totals.sum / totals.count - location) * job.later_factor;
    set_threshold(job, location + excess);
  }
};

/// Fits a generalised Pareto distribution to all magnitudes (eqs. 7 to 9).
struct FitPareto {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    if (totals.count == 0) return set_threshold(job, 0);
    const Dispersion spread{totals.sum, totals.squares, totals.count};
    set_threshold(job, pareto_excess_of(spread.mean(), spread.variance(), job.factor));
  }
};

/// Fits the excess over the previous stage's threshold (eqs. 28 and 29).
template <bool from_least = false>
struct FitParetoTail {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    if (totals.count == 0) return;
    const double location = location_of<from_least>(job, totals);
    const Dispersion spread{totals.sum, totals.squares, totals.count};
    set_threshold(job, location + pareto_excess_of(spread.mean() - location, spread.variance(),
                                                   job.later_factor));
  }
};

/// Fits a gamma distribution to all magnitudes (eqs. 15 and 16).
struct FitGamma {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    if (totals.count == 0) return set_threshold(job, 0);
    const double mean = totals.sum / static_cast<double>(totals.count);
    set_threshold(job, gamma_excess_of(mean, totals.mean_log, job.factor));
  }
};

/// As FitGamma, with the distribution's exact quantile (inverse=exact).
struct FitGammaExactly {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    if (totals.count == 0) return set_threshold(job, 0);
    const double mean = totals.sum / static_cast<double>(totals.count);
    set_threshold(job, gamma_exact_excess_of(mean, totals.mean_log, job.delta, job.factor));
  }
};

}  // namespace thinpipe::cuda
