// Queue of payloads for the decoding kernels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "compressors/cuda/kernels/batch.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/scanned_positions.h"
#include "compressors/cuda/kernels/state_scan.h"

namespace thinpipe::cuda {

/// Blocks and workspace of a payload's kernels.
struct DecodePlan {
  std::uint32_t blocks[kPlannedGrids] = {};  ///< by DecodeGrid
  std::size_t passed = 0;                    ///< entries of DecodeJob::passed
  std::size_t begins = 0;                    ///< entries of DecodeJob::begins

  std::uint32_t& operator[](DecodeGrid grid) { return blocks[static_cast<std::size_t>(grid)]; }
};

/// Payloads that are decoded together, at most one per tensor.
struct DecodeBatch {
  const DecodeJob* jobs = nullptr;  ///< on the device
  std::uint32_t count = 0;          ///< at least one
  std::size_t blocks[kDecodeGrids] = {};

  /// Launches a kernel on all payloads.
  template <class Device, class Kernel>
  void launch(Device& device, DecodeGrid grid, const Kernel& kernel) const {
    const auto which = static_cast<std::uint32_t>(grid);
    device.launch(OnJobs<DecodeJob, Kernel>{jobs, count, which, kernel}, blocks[which]);
  }
};

/// Holds at most as many payloads as there are tensors, then must be emptied. Payloads are stored
/// in a table in pinned memory. A batch consists of the payloads added since the last batch.
template <class Device>
class DecodeQueue {
 public:
  struct Entry {
    std::size_t tensor, bytes;
    std::uint32_t problem;  ///< 0: none
  };

  DecodeQueue(std::shared_ptr<Device> device, std::size_t tensors)
      : device_(std::move(device)),
        capacity_(tensors),
        batch_of_(tensors, 0),
        table_(capacity_, [&](std::size_t bytes) { return device_->allocate_host(bytes); }),
        device_table_(capacity_, [&](std::size_t bytes) { return device_->allocate(bytes); }),
        found_(static_cast<Status*>(device_->allocate_host(capacity_ * sizeof(Status)))) {
    plans_.reserve(capacity_);
    done_.reserve(capacity_);
  }

  bool is_empty() const { return size_ == 0; }
  bool is_full() const { return size_ == capacity_; }
  /// Returns whether payloads wait for the next batch, and whether one of this tensor does.
  bool has_next() const { return size_ > batched_; }
  bool has_next(std::size_t tensor) const { return has_next() && batch_of_[tensor] == batches_; }

  /// Adds a payload. The queue must not be full.
  void add(const DecodeJob& job, const DecodePlan& plan) {
    batch_of_[job.tensor] = batches_;
    table_.jobs[size_] = job;
    table_.jobs[size_].problem = &device_table_.status[size_].problem;
    table_.jobs[size_].arrived = &device_table_.status[size_].arrived;
    plans_.push_back(plan);
    ++size_;
  }

  /// Returns the payloads that are in no batch yet as a batch, and enqueues their upload.
  DecodeBatch next() {
    DecodeBatch batch{.jobs = device_table_.jobs + batched_,
                      .count = static_cast<std::uint32_t>(size_ - batched_)};
    grow(std::span(plans_).subspan(batched_));
    Passed* workspace = passed_;
    for (std::size_t i = batched_; i < size_; ++i) {
      DecodeJob& job = table_.jobs[i];
      job.passed = workspace;
      workspace += plans_[i].passed;
      job.begins = reinterpret_cast<std::uint32_t*>(workspace);
      workspace += of_begins(plans_[i]);
      for (std::size_t grid = 0; grid < kDecodeGrids; ++grid) {
        job.first_block[grid] = static_cast<std::uint32_t>(batch.blocks[grid]);
        batch.blocks[grid] += grid < kPlannedGrids ? plans_[i].blocks[grid] : 1;
      }
    }
    // The first batch also uploads the zeroed status of all payloads.
    const bool first = batched_ == 0;
    const std::byte* const from =
        first ? table_.begin() : reinterpret_cast<const std::byte*>(table_.jobs + batched_);
    std::byte* const to =
        first ? device_table_.begin() : reinterpret_cast<std::byte*>(device_table_.jobs + batched_);
    const auto* const end = reinterpret_cast<const std::byte*>(table_.jobs + size_);
    device_->upload(to, from, static_cast<std::size_t>(end - from));
    batched_ = size_;
    ++batches_;
    return batch;
  }

  /// Waits for all batches and empties the queue. @returns the payloads and their problems
  std::span<const Entry> finish() {
    device_->download(found_, device_table_.status, size_ * sizeof(Status));
    device_->wait();
    done_.clear();
    for (std::size_t i = 0; i < size_; ++i)
      done_.push_back({table_.jobs[i].tensor, table_.jobs[i].payload.bytes, found_[i].problem});
    plans_.clear();
    size_ = batched_ = 0;
    return done_;
  }

 private:
  struct Status {
    std::uint32_t problem;
    std::uint32_t arrived;
  };
  /// The table to upload: zeroed status, then jobs.
  struct Table {
    template <class Allocate>
    Table(std::size_t tensors, const Allocate& allocate)
        : status(static_cast<Status*>(allocate(tensors * (sizeof(Status) + sizeof(DecodeJob))))),
          jobs(reinterpret_cast<DecodeJob*>(status + tensors)) {}
    std::byte* begin() const { return reinterpret_cast<std::byte*>(status); }

    Status* status;
    DecodeJob* jobs;
  };

  /// Returns the entries of `passed` that a plan's `begins` take.
  static std::size_t of_begins(const DecodePlan& plan) {
    constexpr std::size_t kEach = sizeof(Passed) / sizeof(std::uint32_t);
    return (plan.begins + kEach - 1) / kEach;
  }
  /// Grows the workspace; in practice, for the first payloads.
  void grow(std::span<const DecodePlan> plans) {
    std::size_t passed = 0;
    for (const DecodePlan& plan : plans) passed += plan.passed + of_begins(plan);
    if (passed <= passed_capacity_) return;
    passed_capacity_ = 2 * passed;
    passed_ = static_cast<Passed*>(device_->allocate(passed_capacity_ * sizeof(Passed)));
  }

  std::shared_ptr<Device> device_;
  std::size_t capacity_;
  std::size_t size_ = 0;
  std::size_t batched_ = 0;              ///< payloads in a batch
  std::uint64_t batches_ = 1;            ///< number of the next batch
  std::vector<std::uint64_t> batch_of_;  ///< by tensor, the number of its last batch
  Table table_;                          ///< pinned
  Table device_table_;
  Status* found_;
  std::vector<DecodePlan> plans_;
  std::vector<Entry> done_;
  Passed* passed_ = nullptr;
  std::size_t passed_capacity_ = 0;
};

// Scans of payloads in which every code depends on all codes before it.

/// Plans the scan of a payload of `units` units.
inline void plan_scan(std::uint32_t units, DecodePlan& plan) {
  plan[DecodeGrid::kPositions] = units / kScanUnits + 1;
  plan.passed = plan[DecodeGrid::kPositions];
}
template <class Units, class Device>
void read_scanned(Device& device, const DecodeBatch& batch) {
  batch.launch(device, DecodeGrid::kPositions, PassPositions<Units>{});
  batch.launch(device, DecodeGrid::kPositions, ReadPositions<Units>{});
}

/// Plans the scan of a payload whose codes each begin where the previous one ends (state_scan.h).
template <class Stream>
void plan_states(const PayloadView& payload, DecodePlan& plan) {
  plan[DecodeGrid::kPositions] = static_cast<std::uint32_t>(
      std::uint64_t{8} * payload.bytes / (Stream::kBits * Stream::kSegments) + 1);
  plan.passed = StateWorkspace<Stream>::entries(plan[DecodeGrid::kPositions]);
}

}  // namespace thinpipe::cuda
