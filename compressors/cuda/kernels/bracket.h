// MSTopK's bisection (methods/mstopk.cc) for the two thresholds that bracket k elements.
#pragma once

#include <cstdint>

#include "base/splitmix64.h"
#include "compressors/cuda/kernels/probe.h"
#include "compressors/cuda/kernels/rules.h"

namespace thinpipe::cuda {

/// Starts the bisection: neither threshold is known.
struct FitBracket {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    Findings& findings = *job.findings;
    findings.threshold = 0;
    findings.settled = false;
    findings.low = 0;
    findings.high = 1;
    findings.lower = findings.lower_count = findings.upper_count = 0;
    findings.upper = static_cast<std::uint32_t>(kMaxKey) + 1;
    findings.ties = findings.first_tie = 0;
    if (totals.count == 0) return;
    findings.mean = totals.sum / totals.count;
    const double range =
        static_cast<double>(magnitude_of(static_cast<std::int32_t>(totals.most))) - findings.mean;
    findings.range = range > 0 ? range : 0;
    findings.limit = static_cast<std::uint32_t>(key_reaching(findings.mean));
  }
};

/// Does up to three rounds of MSTopK's bisection. Element counts at seven thresholds suffice for
/// three rounds. Sets Findings::limit to the magnitude key of the lowest threshold that later
/// rounds may use.
struct HalveBracket {
  static constexpr int kLimits = 7;
  static constexpr int kRounds = 3;

  int rounds;  ///< of bisection in this kernel
  bool last;   ///< these are the last rounds

  THINPIPE_KERNEL std::int32_t limit(const Findings& findings, int i) const {
    const double step = (findings.high - findings.low) / (kLimits + 1);
    return key_reaching(probe_at(findings, findings.low + (i + 1) * step));
  }
  THINPIPE_KERNEL void found(const Job& job, const std::int32_t* limits,
                             const std::uint32_t* counts) const {
    Findings& findings = *job.findings;
    int low = 0, high = kLimits + 1;  // exact: each round adds one binary digit to q
    for (int round = 0; round < rounds; ++round) {
      const int middle = (low + high) / 2;
      const double q = (findings.low + findings.high) / 2;
      const auto limit = static_cast<std::uint32_t>(limits[middle - 1]);
      const std::uint32_t count = counts[middle - 1];
      if (count <= job.target) {
        high = middle;
        findings.high = q;
        findings.upper = limit;
        findings.upper_count = count;
      } else {
        low = middle;
        findings.low = q;
        findings.lower = findings.limit = limit;
        findings.lower_count = count;
        findings.threshold = probe_at(findings, q);
      }
    }
    if (last) choose_neighbours(job, findings);
  }

 private:
  /// Chooses the missing elements from those between the two thresholds, consecutive ones from a
  /// random start.
  THINPIPE_KERNEL static void choose_neighbours(const Job& job, Findings& findings) {
    const std::uint32_t reach = findings.lower_count > 0 ? findings.lower_count : job.n;
    SplitMix64 random(job.sample_seed);
    findings.ties = job.target - findings.upper_count;
    findings.first_tie = static_cast<std::uint32_t>(random.below(reach - job.target + 1));
  }
};

/// Keeps all elements that reach the upper threshold, and the consecutive ones chosen above.
struct Bracketed {
  static constexpr bool kTies = true;

  std::uint32_t low;
  std::uint32_t upper;
  std::uint32_t first;
  std::uint32_t allowed;

  THINPIPE_KERNEL static Bracketed of(const Job& job) {
    const Findings& findings = *job.findings;
    return {findings.lower, findings.upper, findings.first_tie, findings.ties};
  }
  THINPIPE_KERNEL Kept look(std::uint32_t /*i*/, float value) const {
    const std::uint32_t rank = rank_of<KeyOrder::kMagnitude>(value);
    return rank >= upper ? Kept::kYes : rank >= low ? Kept::kTie : Kept::kNo;
  }
  THINPIPE_KERNEL std::uint32_t ties(std::uint32_t count) const {
    const std::uint32_t after = count < first ? 0 : count - first;
    return after < allowed ? after : allowed;
  }
  THINPIPE_KERNEL float sent(float value) const { return value; }
};

}  // namespace thinpipe::cuda
