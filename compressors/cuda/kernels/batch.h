// All tensors of a step, for kernel launches, with the tables that launches read; and kernels that
// run on many jobs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "compressors/cuda/kernels/job.h"
#include "compressors/kernels/streams.h"

namespace thinpipe::cuda {

/// Allocates zeroed device memory for `count` values.
template <class T, class Device>
T* device_array(Device& device, std::size_t count) {
  return static_cast<T*>(device.allocate(count * sizeof(T)));
}
/// Allocates pinned host memory for `count` values, for what every step uploads and downloads.
template <class T, class Device>
std::span<T> host_array(Device& device, std::size_t count) {
  T* const values = static_cast<T*>(device.allocate_host(count * sizeof(T)));
  std::uninitialized_value_construct_n(values, count);
  return {values, count};
}
/// Copies values to device memory of their own, and waits.
template <class Device, class Values>
auto* uploaded(Device& device, const Values& values) {
  using T = typename Values::value_type;
  T* const device_values = device_array<T>(device, values.size());
  device.upload(device_values, values.data(), values.size() * sizeof(T));
  device.wait();
  return device_values;
}

/// Adds the `count` tiles or parts of a job to a table.
template <class T>
void add_tiles(std::uint32_t job, std::uint32_t count, std::vector<T>& tiles) {
  for (std::uint32_t i = 0; i < count; ++i) tiles.push_back({job, i});
}
/// A method's own table of tiles.
struct TileTable {
  std::vector<Tile> tiles;
  const Tile* on_device = nullptr;

  void add(std::uint32_t job, std::uint32_t count) { add_tiles(job, count, tiles); }
  void upload(auto& device) { on_device = uploaded(device, tiles); }
  std::size_t count() const { return tiles.size(); }
};

struct Batch {
  const Job* jobs = nullptr;  ///< device pointer, as all pointers of this struct
  std::size_t tensors = 0;
  const Tile* sum_tiles = nullptr;  ///< of kSumTile elements
  std::size_t sum_tile_count = 0;
  const Tile* tiles = nullptr;  ///< of kTile elements
  std::size_t tile_count = 0;
  const Part* parts = nullptr;  ///< of all tensors
  std::size_t part_count = 0;
  std::uint32_t fits = 0;     ///< maximum over the tensors in this step
  std::uint32_t choices = 0;  ///< maximum over the tensors in this step

  /// Launches a kernel on all tiles or parts. @param rest  the members after those of its grid
  template <class Kernel, class Device, class... Rest>
  void launch_tiles(Device& device, const Rest&... rest) const {
    device.launch(Kernel{OnTiles{jobs, tiles}, rest...}, tile_count);
  }
  template <class Kernel, class Device, class... Rest>
  void launch_sum_tiles(Device& device, const Rest&... rest) const {
    device.launch(Kernel{OnTiles{jobs, sum_tiles}, rest...}, sum_tile_count);
  }
  template <class Kernel, class Device, class... Rest>
  void launch_parts(Device& device, const Rest&... rest) const {
    device.launch(Kernel{OnParts{jobs, parts}, rest...}, part_count);
  }
};

/// Divides the tensors' elements evenly among the blocks that a device runs at a time, at least one
/// part per tensor. Sets Job::parts. @returns the parts of all tensors
inline std::vector<Part> divide_in_parts(std::span<Job> jobs, std::uint32_t processors) {
  std::uint64_t all = 0;
  for (const Job& job : jobs) all += tiles_of(job.n, kTile);
  std::vector<Part> parts;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const std::uint64_t tiles = tiles_of(jobs[i].n, kTile);
    const std::uint64_t blocks = std::uint64_t{processors} * kBlocksPerProcessor;
    jobs[i].parts =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(tiles * blocks / all, 1, tiles));
    add_tiles(static_cast<std::uint32_t>(i), jobs[i].parts, parts);
  }
  return parts;
}

/// Divides the tensors of a step, all but Batch::jobs. Sets Job::parts.
/// @param tile  elements of a tile
Batch make_batch(auto& device, std::span<Job> jobs, std::uint32_t tile = kTile) {
  std::vector<Tile> sum_tiles, tiles;
  for (std::uint32_t i = 0; i < jobs.size(); ++i) {
    add_tiles(i, tiles_of(jobs[i].n, kSumTile), sum_tiles);
    add_tiles(i, tiles_of(jobs[i].n, tile), tiles);
  }
  const std::vector<Part> parts = divide_in_parts(jobs, device.processors());
  return {.tensors = jobs.size(),
          .sum_tiles = uploaded(device, sum_tiles),
          .sum_tile_count = sum_tiles.size(),
          .tiles = uploaded(device, tiles),
          .tile_count = tiles.size(),
          .parts = uploaded(device, parts),
          .part_count = parts.size()};
}

/// Allocates a job's arrays for up to `count` chosen elements.
void allocate_chosen(auto& device, std::size_t count, Job& job) {
  for (Chosen* const chosen : {&job.chosen, &job.staged})
    *chosen = {device_array<std::uint32_t>(device, count), device_array<float>(device, count)};
}
/// Allocates a job's workspace that has entries for tiles and parts.
void allocate_workspace(auto& device, Job& job) {
  const std::size_t sums = kSumDoubles * (tiles_of(job.n, kSumTile) + kMomentPartials);
  job.block_sums = device_array<double>(device, sums);
  for (PrefixState*& states : job.states)
    states = device_array<PrefixState>(device, tiles_of(job.n, kTile));
  job.part_counts = device_array<Counts>(device, tiles_of(job.n, kTile) + 1);
}

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

  THINPIPE_KERNEL void operator()(auto& block, Shared& shared) const {
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
