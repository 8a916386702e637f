// Interface of quantisers on the GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compressors/cuda/device/device_compressor.h"
#include "compressors/cuda/device/makers.h"
#include "compressors/cuda/encode/device_decodes.h"
#include "compressors/cuda/kernels/batch.h"
#include "compressors/kernels/random.h"
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
  /// Sets this step's random key, for stochastic quantisers.
  void prepare(std::size_t tensor, const DeviceStep& step, Job& job) const {
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

}  // namespace thinpipe::cuda
