// The jobs of buckets larger than a tile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "compressors/cuda/kernels/batch.h"
#include "compressors/cuda/kernels/split_jobs.h"
#include "compressors/kernels/streams.h"

namespace thinpipe::cuda {

template <class Device>
class GreatBuckets {
 public:
  /// Adds the buckets of the next tensor.
  /// @param at  at(first) returns the byte at which the codes of the bucket with first element
  /// `first` begin
  /// @param sums  sums(n) returns the number of doubles that the sums of n elements need; null: the
  /// moments' sums suffice
  template <class At>
  void add(Device& device, const Job& job, std::uint32_t bucket, std::size_t encoded, At at,
           std::size_t (*sums)(std::size_t n) = nullptr) {
    const auto number = static_cast<std::uint32_t>(ranges_.size());
    PartRange range{.begin = static_cast<std::uint32_t>(parts_.size()),
                    .end = 0,
                    .encoded = static_cast<std::uint32_t>(encoded)};
    for (std::uint32_t first = 0; first < job.n; first += bucket) {
      const std::uint32_t n = std::min(bucket, job.n - first);
      const std::size_t of_moments =
          kSumDoubles * (tiles_of(n, kSumTile) + std::size_t{kMomentPartials});
      const std::size_t doubles = std::max(of_moments, sums == nullptr ? 0 : sums(n));
      const auto part = static_cast<std::uint32_t>(parts_.size());
      parts_.push_back(
          {.job = number,
           .first = first,
           .n = n,
           .at = static_cast<std::uint32_t>(at(first)),
           .block_sums = static_cast<double*>(device.allocate(doubles * sizeof(double)))});
      for (std::uint32_t i = 0; i < tiles_of(n, kTile); ++i) tiles_.push_back({part, i});
      for (std::uint32_t i = 0; i < tiles_of(n, kSumTile); ++i) sum_tiles_.push_back({part, i});
    }
    range.end = static_cast<std::uint32_t>(parts_.size());
    ranges_.push_back(range);
  }

  /// Launches the kernel that makes the step's jobs. @returns all buckets as a batch
  Batch split(Device& device, const Batch& batch) {
    if (split_ == nullptr) upload(device);
    const auto count = static_cast<std::uint32_t>(parts_.size());
    device.launch(SplitJobs{batch.jobs, device_parts_, count, split_},
                  tiles_of(count, SplitJobs::kThreads));
    Batch all = batch;
    all.jobs = split_;
    all.tensors = parts_.size();
    all.sum_tiles = device_sum_tiles_;
    all.sum_tile_count = sum_tiles_.size();
    all.tiles = device_tiles_;
    all.tile_count = tiles_.size();
    return all;
  }
  /// Launches the kernel that adds up the buckets' findings.
  void join(Device& device, const Batch& batch) const {
    device.launch(JoinParts{batch.jobs, split_, device_ranges_}, batch.tensors);
  }

 private:
  /// Uploads the tables once, when all tensors are known.
  void upload(Device& device) {
    auto* const findings =
        static_cast<Findings*>(device.allocate(parts_.size() * sizeof(Findings)));
    device.zero(findings, parts_.size() * sizeof(Findings));
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].findings = findings + i;
    const auto uploaded = [&]<class T>(const std::vector<T>& values) {
      auto* const device_values = static_cast<T*>(device.allocate(values.size() * sizeof(T)));
      device.upload(device_values, values.data(), values.size() * sizeof(T));
      return device_values;
    };
    device_parts_ = uploaded(parts_);
    device_ranges_ = uploaded(ranges_);
    device_tiles_ = uploaded(tiles_);
    device_sum_tiles_ = uploaded(sum_tiles_);
    split_ = static_cast<Job*>(device.allocate(parts_.size() * sizeof(Job)));
    device.wait();
  }

  std::vector<BucketPart> parts_;
  std::vector<PartRange> ranges_;  ///< of each tensor
  std::vector<Tile> tiles_;
  std::vector<Tile> sum_tiles_;
  BucketPart* device_parts_ = nullptr;
  PartRange* device_ranges_ = nullptr;
  Tile* device_tiles_ = nullptr;
  Tile* device_sum_tiles_ = nullptr;
  Job* split_ = nullptr;
};

}  // namespace thinpipe::cuda
