// Runs one kernel on many jobs.
#pragma once

#include <cstdint>

#include "base/both.h"

namespace thinpipe::cuda {

/// Runs a kernel written for one job on many jobs, each with its own number of blocks, possibly 0.
/// The kernel is called with its job, and index() counts from the job's first block, which is
/// Job::first_block[grid]. Grid: the blocks of all jobs, in order.
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
    // The block belongs to the last job that begins at or before it.
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
