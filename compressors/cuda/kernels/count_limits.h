// Counts the elements that reach several thresholds, to search a threshold.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/in_tile.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/source.h"
#include "compressors/kernels/keys.h"

namespace thinpipe::cuda {

/// Counts the elements of c, or of the first choice (kChosen), that reach each limit of a search;
/// then one thread reports the counts to the search. A search has
///   kLimits  the number of limits
///   limit()  the i-th limit
///   found()  called with all limits and counts
/// and ends when Findings::settled is set. Grid: the parts.
template <Reading reading, class Search>
struct CountLimits {
  static constexpr int kThreads = 512;
  static constexpr int kLimits = Search::kLimits;
  struct Shared {
    std::int32_t limits[kLimits];
    std::uint32_t counts[kLimits];
  };

  const Job* jobs;
  const Part* parts;
  Search search;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    const Part own = parts[block.index()];
    const Job job = jobs[own.job];
    Findings& findings = *job.findings;
    const std::uint32_t from = place_of(1);
    const std::uint32_t count = elements_of<reading>(job, from);
    const PartOfTiles part(job, tiles_of(count, kTile), own.index);
    if (part.is_empty() || findings.settled) return;
    block.each([&](int t) {
      if (t >= kLimits) return;
      shared.limits[t] = search.limit(findings, t);
      shared.counts[t] = 0;
    });
    block.each([&](int t) {
      std::uint32_t reached[kLimits] = {};
      for (std::uint32_t tile = part.first; tile < part.last; ++tile) {
        each_in_tile<kThreads>(t, tile, count, [&](std::uint32_t i) {
          const std::int32_t key = key_of(element<reading>(job, i), KeyOrder::kMagnitude);
          for (int limit = 0; limit < kLimits; ++limit)
            reached[limit] += key >= shared.limits[limit] ? 1 : 0;
        });
      }
      for (int limit = 0; limit < kLimits; ++limit)
        if (reached[limit] > 0) block.add(&shared.counts[limit], reached[limit]);
    });
    block.each([&](int t) {
      if (t < kLimits && shared.counts[t] > 0) block.add(&job.histogram[t], shared.counts[t]);
    });
    if (!block.is_last(&findings.arrived, part.parts)) return;
    block.each([&](int t) {
      if (t == 0 && job.n > 0) search.found(job, shared.limits, job.histogram);
    });
    block.each([&](int t) {
      if (t < kLimits) job.histogram[t] = 0;
    });
  }
};

}  // namespace thinpipe::cuda
