// Runs one kernel on many jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "compressors/cuda/kernels/job.h"

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
    const auto is_later = [&](std::uint32_t i) {
      return jobs[i].first_block[grid] > block.index();
    };
    const std::uint32_t own = first_where(1, count, is_later) - 1;
    const Job job = jobs[own];
    block.count_from(jobs[own].first_block[grid]);
    kernel(block, shared, job);
  }
};

/// A table in host-pinned memory, which the device reads. Use: clear(), add() for each job,
/// launch().
template <class Device, class Job>
class DeviceJobs {
 public:
  explicit DeviceJobs(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  /// Empties the table and reserves `capacity` jobs. Earlier launches must have finished.
  void clear(std::size_t capacity) {
    if (capacity > capacity_) {
      capacity_ = capacity;
      jobs_ = static_cast<Job*>(device_->allocate_host(capacity * sizeof(Job)));
      device_jobs_ = static_cast<Job*>(device_->allocate(capacity * sizeof(Job)));
    }
    count_ = blocks_ = 0;
  }
  /// @param blocks  thread blocks of the job
  void add(Job job, std::size_t blocks) {
    job.first_block[0] = static_cast<std::uint32_t>(blocks_);
    jobs_[count_++] = job;
    blocks_ += blocks;
  }
  /// Launches one kernel on all jobs.
  template <class Kernel>
  void launch(const Kernel& kernel) {
    if (count_ == 0) return;
    device_->upload(device_jobs_, jobs_, count_ * sizeof(Job));
    device_->launch(
        OnJobs<Job, Kernel>{device_jobs_, static_cast<std::uint32_t>(count_), 0, kernel}, blocks_);
  }

 private:
  std::shared_ptr<Device> device_;
  std::size_t capacity_ = 0;
  std::size_t count_ = 0;
  std::size_t blocks_ = 0;
  Job* jobs_ = nullptr;
  Job* device_jobs_ = nullptr;
};

}  // namespace thinpipe::cuda
