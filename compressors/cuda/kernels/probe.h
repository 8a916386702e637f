// RedSync's probes, counted all at once.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/kernels/keys.h"

namespace thinpipe::cuda {

/// The threshold at a share q of the way from the mean magnitude to the greatest.
THINPIPE_KERNEL inline double probe_at(const Findings& findings, double q) {
  return findings.mean + q * findings.range;
}

/// Findings::limit becomes that of the lowest threshold that bisection may look at, 1/8 of the way;
/// of equal magnitudes the mean may be rounded above them, and thresholds then fall with q.
struct FitRange {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    constexpr double kLowest = 0.125, kHighest = 0.875;
    Findings& findings = *job.findings;
    findings.threshold = 0;
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

/// Counts what of the first choice exceeds each of the seven thresholds that three halvings can
/// look at, then halves (select/redsync.cc). Findings::limit becomes that of the last one looked
/// at. Grid: the tiles of kTile elements.
struct ProbeThresholds {
  static constexpr int kThreads = 512;
  static constexpr int kProbes = 7;
  struct Shared {
    std::int32_t limits[kProbes];
    std::uint32_t counts[kProbes];
  };

  const Job* jobs;
  const Tile* tiles;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Tile tile = tiles[block.index()];
    const Job job = jobs[tile.job];
    Findings& findings = *job.findings;
    const std::uint32_t count = findings.counts[place_of(1)];
    if (tile.index >= tiles_of(count, kTile)) return;
    const float* const values = job.chosen_at(place_of(1)).values;
    block.each([&](int t) {
      if (t >= kProbes) return;
      shared.limits[t] = key_above(probe_at(findings, (t + 1) / 8.0));
      shared.counts[t] = 0;
    });
    block.each([&](int t) {
      std::uint32_t reached[kProbes] = {};
      for (std::uint32_t j = 0; j < kTile; j += kThreads) {
        const std::uint32_t i = tile.index * kTile + j + static_cast<std::uint32_t>(t);
        if (i >= count) break;
        const std::int32_t key = key_of(values[i], KeyOrder::kMagnitude);
        for (int probe = 0; probe < kProbes; ++probe)
          reached[probe] += key >= shared.limits[probe] ? 1 : 0;
      }
      for (int probe = 0; probe < kProbes; ++probe)
        if (reached[probe] > 0) block.add(&shared.counts[probe], reached[probe]);
    });
    block.each([&](int t) {
      if (t < kProbes && shared.counts[t] > 0) block.add(&job.histogram[t], shared.counts[t]);
    });
    if (!block.is_last(&findings.arrived, tiles_of(count, kTile))) return;
    block.each([&](int t) {
      if (t == 0 && job.n > 0) bisect(job, shared.limits);
    });
    block.each([&](int t) {
      if (t < kProbes) job.histogram[t] = 0;
    });
  }

 private:
  THINPIPE_KERNEL static void bisect(const Job& job, const std::int32_t* limits) {
    Findings& findings = *job.findings;
    const std::uint64_t k = job.target;
    int low = 0, high = kProbes + 1;  // in eighths
    while (high - low > 1) {
      const int probe = (low + high) / 2;
      const std::uint64_t z = job.histogram[probe - 1];
      findings.threshold = probe_at(findings, probe / 8.0);
      findings.limit = static_cast<std::uint32_t>(limits[probe - 1]);
      if (k < z && z < 2 * k) break;
      (2 * z < k ? high : low) = probe;
    }
  }
};

}  // namespace thinpipe::cuda
