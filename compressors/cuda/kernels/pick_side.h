// SBC's choice between the largest and the smallest elements.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/job.h"

namespace thinpipe::cuda {

/// Decides between the largest elements, in Job::chosen of `jobs`, and the smallest elements, in
/// the same array of `others`. Replaces the largest by the smallest if the mean of the smallest is
/// farther from 0. An exact selection keeps nothing if either side is incomplete. Grid: the parts.
struct PickSide {
  static constexpr int kThreads = 512;
  struct Shared {};

  const Job* jobs;
  const Job* others;
  const Part* parts;
  bool exact;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const Part tile = parts[block.index()];
    const Job job = jobs[tile.job];
    const Job other = others[tile.job];
    const std::uint32_t count = job.findings->counts[job.place];
    const std::uint32_t other_count = other.findings->counts[job.place];
    const bool complete = !exact || (count == job.target && other_count == job.target);
    // With a NaN on either side, the largest elements are kept.
    const double mean = count == 0 ? 0 : job.findings->mean;
    const double other_mean = other_count == 0 ? 0 : other.findings->mean;
    const bool swap = complete && -other_mean > mean;
    block.each([&](int t) {
      if (!swap) return;
      const Chosen to = job.chosen;
      const Chosen from = other.chosen;
      for (auto i = tile.index * kThreads + static_cast<std::uint32_t>(t); i < other_count;
           i += job.parts * kThreads) {
        to.positions[i] = from.positions[i];
        to.values[i] = from.values[i];
      }
    });
    if (!block.is_last(&job.findings->arrived, job.parts)) return;
    block.each([&](int t) {
      if (t != 0) return;
      Findings& findings = *job.findings;
      if (swap) findings.threshold = other.findings->threshold;
      findings.counts[job.place] = !complete ? 0 : swap ? other_count : count;
      if (findings.counts[job.place] == 0) findings.threshold = 0;
    });
  }
};

}  // namespace thinpipe::cuda
