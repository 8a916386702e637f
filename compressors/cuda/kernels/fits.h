// Thresholds that follow from statistics, computed where these are: no trip to the host.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/kernels/keys.h"

namespace thinpipe::cuda {

THINPIPE_KERNEL inline void set_threshold(const Job& job, double threshold) {
  job.findings->threshold = threshold;
  job.findings->limit = static_cast<std::uint32_t>(key_above(threshold));
}

/// Exponential distribution of all magnitudes (SIDCo eq. 6).
struct FitExponential {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    set_threshold(job, totals.count == 0 ? 0 : totals.sum / totals.count * job.factor);
  }
};

/// Of what exceeds the threshold of the stage before (eqs. 10 and 11). Nothing does: it stays.
struct FitExponentialTail {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    if (totals.count == 0) return;
    const double location = job.findings->threshold;
    const double excess = (totals.sum / totals.count - location) * job.later_factor;
    set_threshold(job, location + excess);
  }
};

}  // namespace thinpipe::cuda
