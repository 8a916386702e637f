// One kernel on many jobs at once.
#pragma once

#include <cstdint>

#include "base/both.h"

namespace thinpipe::cuda {

/// A kernel that is written for one job, on many, of which each has a number of blocks of its own,
/// or none: it is called with the job, and counts its blocks from that one's first, which stands in
/// Job::first_block[grid]. Grid: the blocks of all jobs, in their order.
template <class Job, class Kernel>
struct OnJobs {
  static constexpr int kThreads = Kernel::kThreads;
  using Shared = typename Kernel::Shared;

  const Job* jobs;
  std::uint32_t count;  ///< at least one
  std::uint32_t grid;
  Kernel kernel;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& shared) const {
    // The last one that begins with this block or before it has it.
    std::uint32_t low = 0;
    for (std::uint32_t high = count - 1; low < high;) {
      const std::uint32_t middle = low + (high - low + 1) / 2;
      if (jobs[middle].first_block[grid] <= block.index()) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    const Job job = jobs[low];
    block.count_from(jobs[low].first_block[grid]);
    kernel(block, shared, job);
  }
};

}  // namespace thinpipe::cuda
