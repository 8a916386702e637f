// RedSync's probes: thresholds between the mean and the maximum magnitude.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/kernels/keys.h"

namespace thinpipe::cuda {

/// Returns the threshold at fraction q of the range from the mean to the maximum magnitude.
THINPIPE_KERNEL inline double probe_at(const Findings& findings, double q) {
  return findings.mean + q * findings.range;
}

/// Sets Findings::limit to the key of the lowest threshold that bisection may use. A threshold is
/// at fraction q of the range from the mean to the maximum magnitude; the lowest is at q = 1/8. If
/// all magnitudes are equal, the rounded mean may be above them. Thresholds then decrease with q.
struct FitRange {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    constexpr double kLowest = 0.125, kHighest = 0.875;
    Findings& findings = *job.findings;
    findings.threshold = 0;
    findings.settled = false;
    findings.limit = static_cast<std::uint32_t>(kMaxKey);
    if (totals.count == 0) return;
    findings.mean = totals.sum / totals.count;
    findings.range =
        static_cast<double>(magnitude_of(static_cast<std::int32_t>(totals.most))) - findings.mean;
    const std::int32_t low = key_above(probe_at(findings, kLowest));
    const std::int32_t high = key_above(probe_at(findings, kHighest));
    findings.limit = static_cast<std::uint32_t>(low < high ? low : high);
  }
};

/// The seven thresholds that three halvings of RedSync's search may use (methods/redsync.cc). Sets
/// Findings::limit to the key of the last threshold that the search used.
struct ProbeHalves {
  static constexpr int kLimits = 7;

  THINPIPE_KERNEL std::int32_t limit(const Findings& findings, int i) const {
    return key_above(probe_at(findings, (i + 1) / 8.0));
  }
  THINPIPE_KERNEL void found(const Job& job, const std::int32_t* limits,
                             const std::uint32_t* counts) const {
    Findings& findings = *job.findings;
    const std::uint64_t k = job.target;
    int low = 0, high = kLimits + 1;  // in eighths
    while (high - low > 1) {
      const int probe = (low + high) / 2;
      const std::uint64_t z = counts[probe - 1];
      findings.threshold = probe_at(findings, probe / 8.0);
      findings.limit = static_cast<std::uint32_t>(limits[probe - 1]);
      if (k < z && z < 2 * k) break;
      (2 * z < k ? high : low) = probe;
    }
  }
};

/// Eight of the thresholds of variant=trim, from number `first`: finds the first one that k
/// elements exceed.
struct TrimRange {
  static constexpr int kLimits = 8;
  static constexpr int kMax = 32;

  int first;

  THINPIPE_KERNEL std::int32_t limit(const Findings& findings, int i) const {
    return key_above(threshold(findings, i));
  }
  THINPIPE_KERNEL void found(const Job& job, const std::int32_t* limits,
                             const std::uint32_t* counts) const {
    Findings& findings = *job.findings;
    for (int i = 0; i < kLimits && !findings.settled; ++i) {
      findings.threshold = threshold(findings, i);
      findings.limit = static_cast<std::uint32_t>(limits[i]);
      findings.settled = counts[i] >= job.target;
    }
    if (findings.range <= 0) findings.settled = true;  // all thresholds are the same
  }

 private:
  /// Divides by 10 once, as in methods/redsync.cc.
  THINPIPE_KERNEL double threshold(const Findings& findings, int i) const {
    return probe_at(findings, (8 - 2 * static_cast<double>(first + i)) / 10);
  }
};

}  // namespace thinpipe::cuda
