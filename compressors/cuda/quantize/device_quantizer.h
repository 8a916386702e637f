// Interface of quantisers on the GPU, and buckets larger than a tile.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compressors/cuda/device/device_compressor.h"
#include "compressors/cuda/device/makers.h"
#include "compressors/cuda/encode/device_decodes.h"
#include "compressors/cuda/kernels/batch.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/kernels/random.h"
#include "compressors/kernels/streams.h"
#include "compressors/wire/bytes.h"

namespace thinpipe::cuda {

template <class Device>
class DeviceQuantizer : public DevicePart<Device> {
 public:
  /// @param streams  random_stream() of each tensor, for stochastic quantisers
  explicit DeviceQuantizer(std::vector<std::uint64_t> streams = {})
      : streams_(std::move(streams)) {}

  virtual std::size_t max_encoded_size(std::size_t tensor, std::size_t elements) const = 0;
  /// Returns the elements of a tile on which kernels are launched.
  virtual std::uint32_t tile() const { return kTile; }
  /// Returns whether codes are packed into Job::packed before the payload is written.
  virtual bool packs() const { return false; }
  /// Allocates a tensor's permanent workspace on the device.
  virtual void open(Device& /*device*/, std::size_t /*tensor*/, Job& /*job*/) {}
  /// Sets this step's number, and its random key for stochastic quantisers.
  void prepare(std::size_t tensor, const DeviceStep& step, Job& job) const {
    job.tag = static_cast<std::uint32_t>(step.step);
    if (!streams_.empty()) job.key = random_key(streams_[tensor], step.step);
  }
  /// Returns whether all workers may share one scale. If so, launch_scales() launches the kernels
  /// that find this worker's scales (Findings::scale) and update the memories.
  virtual bool shares_scale() const { return false; }
  virtual void launch_scales(Device& /*device*/, const Batch& /*batch*/) {}

  /// Launches the kernels that write the payloads of all tensors and update the memories. Launches
  /// must be the same in every step (DeviceBase::repeat).
  virtual void launch(Device& device, const Batch& batch) = 0;

  /// Returns the number of all-reduces in a step, the maximum over all tensors. launch_round()
  /// launches the kernels of one round: round 1 replaces launch(), later rounds read the means from
  /// Job::mean, and the last writes the aggregate's payload.
  virtual int rounds() const { return 1; }
  virtual void launch_round(Device& /*device*/, const Batch& /*batch*/, int /*round*/) {}
  /// After the last round, writes the payload of this worker's contribution to the host. Waits.
  virtual void own_payload(Device& /*device*/, std::size_t /*tensor*/, ByteWriter& /*out*/) const {}

  /// Returns whether a payload may have this length.
  virtual bool fits(std::size_t tensor, std::size_t bytes, std::size_t elements) const {
    return bytes == max_encoded_size(tensor, elements);
  }
  /// Sets the job fields, blocks and workspace of the kernels for a payload. By default: one block
  /// for each tile of kTile elements.
  virtual void plan_decode(Device& /*device*/, DecodeJob& job, DecodePlan& plan) {
    plan[DecodeGrid::kElements] = tiles_of(job.payload.n, kTile);
  }
  virtual void decode(Device& device, const DecodeBatch& batch) = 0;
  /// Returns the message for a problem that decoding found.
  virtual std::string problem(std::uint32_t number) const = 0;

 private:
  std::vector<std::uint64_t> streams_;
};

// Buckets larger than a tile: for the kernels of a step, each is a separate tensor.

/// One bucket of a tensor.
struct BucketPart {
  std::uint32_t job = 0;    ///< of the tensor
  std::uint32_t first = 0;  ///< first element in the tensor
  std::uint32_t n = 0;
  std::uint32_t at = 0;  ///< Job::at
  double* block_sums = nullptr;
  Findings* findings = nullptr;
};

/// Makes the jobs of buckets from those of their tensors. Grid: kThreads buckets per block.
struct SplitJobs {
  static constexpr int kThreads = 128;
  struct Shared {};

  const Job* jobs;
  const BucketPart* parts;
  std::uint32_t count;
  Job* split;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    block.each([&](int t) {
      const std::uint32_t i =
          block.index() * static_cast<std::uint32_t>(kThreads) + static_cast<std::uint32_t>(t);
      if (i >= count) return;
      const BucketPart part = parts[i];
      Job job = jobs[part.job];
      job.n = part.n;
      job.first = part.first;
      job.at = part.at;
      job.g += part.first;
      if (job.r != nullptr) job.r += part.first;
      if (job.u != nullptr) job.u += part.first;
      if (job.h != nullptr) job.h += part.first;
      job.block_sums = part.block_sums;
      job.findings = part.findings;
      split[i] = job;
    });
  }
};

/// The buckets of a tensor, and the size of its payload.
struct PartRange {
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::uint32_t encoded = 0;  ///< bytes
};

/// Joins the buckets' findings into those of their tensors. Grid: one block per tensor.
struct JoinParts {
  static constexpr int kThreads = 256;
  struct Shared {};

  const Job* jobs;
  const Job* split;
  const PartRange* ranges;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    const PartRange range = ranges[block.index()];
    typename Block::template Local<std::uint32_t> nonzero;
    block.each([&](int t) {
      nonzero[t] = 0;
      for (auto i = range.begin + static_cast<std::uint32_t>(t); i < range.end; i += kThreads)
        nonzero[t] += split[i].findings->counts[1];
    });
    const std::uint32_t all = block.sum(nonzero);
    once(block, [&] {
      Findings& findings = *jobs[block.index()].findings;
      findings.counts[1] = all;
      findings.encoded = range.encoded;
    });
  }
};

template <class Device>
class GreatBuckets {
 public:
  /// Adds the buckets of the next tensor.
  /// @param at  at(first) returns the byte at which the codes of the bucket with first element
  /// `first` begin
  /// @param sums  sums(n) returns the number of doubles that the sums of n elements need; null: the
  /// moments' sums suffice
  void add(Device& device, const Job& job, std::uint32_t bucket, std::size_t encoded, auto at,
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
      parts_.push_back({.job = number,
                        .first = first,
                        .n = n,
                        .at = static_cast<std::uint32_t>(at(first)),
                        .block_sums = device_array<double>(device, doubles)});
      tiles_.add(part, tiles_of(n, kTile));
      sum_tiles_.add(part, tiles_of(n, kSumTile));
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
    all.sum_tiles = sum_tiles_.on_device;
    all.sum_tile_count = sum_tiles_.count();
    all.tiles = tiles_.on_device;
    all.tile_count = tiles_.count();
    return all;
  }
  /// Launches the kernel that adds up the buckets' findings.
  void join(Device& device, const Batch& batch) const {
    device.launch(JoinParts{batch.jobs, split_, device_ranges_}, batch.tensors);
  }

 private:
  /// Uploads the tables once, when all tensors are known.
  void upload(Device& device) {
    auto* const findings = device_array<Findings>(device, parts_.size());
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].findings = findings + i;
    device_parts_ = uploaded(device, parts_);
    device_ranges_ = uploaded(device, ranges_);
    for (TileTable* const tiles : {&tiles_, &sum_tiles_}) tiles->upload(device);
    split_ = device_array<Job>(device, parts_.size());
  }

  std::vector<BucketPart> parts_;
  std::vector<PartRange> ranges_;  ///< of each tensor
  TileTable tiles_, sum_tiles_;
  BucketPart* device_parts_ = nullptr;
  PartRange* device_ranges_ = nullptr;
  Job* split_ = nullptr;
};

}  // namespace thinpipe::cuda
