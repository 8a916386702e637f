// Jobs of one kernel that are asked for together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "compressors/cuda/kernels/on_jobs.h"

namespace thinpipe::cuda {

/// In pinned memory, where the device reads them: clear(), add() of each, launch().
template <class Device, class Job>
class DeviceJobs {
 public:
  explicit DeviceJobs(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  /// Empty, with room for so many. Earlier launches must have ended.
  void clear(std::size_t room) {
    if (room > room_) {
      room_ = room;
      jobs_ = static_cast<Job*>(device_->allocate_host(room * sizeof(Job)));
      device_jobs_ = static_cast<Job*>(device_->allocate(room * sizeof(Job)));
    }
    count_ = blocks_ = 0;
  }
  /// @param blocks  that the kernel takes for it
  void add(Job job, std::size_t blocks) {
    job.first_block[0] = static_cast<std::uint32_t>(blocks_);
    jobs_[count_++] = job;
    blocks_ += blocks;
  }
  /// A kernel on all of them.
  template <class Kernel>
  void launch(const Kernel& kernel) {
    if (count_ == 0) return;
    device_->upload(device_jobs_, jobs_, count_ * sizeof(Job));
    device_->launch(
        OnJobs<Job, Kernel>{device_jobs_, static_cast<std::uint32_t>(count_), 0, kernel}, blocks_);
  }

 private:
  std::shared_ptr<Device> device_;
  std::size_t room_ = 0;
  std::size_t count_ = 0;
  std::size_t blocks_ = 0;
  Job* jobs_ = nullptr;
  Job* device_jobs_ = nullptr;
};

}  // namespace thinpipe::cuda
