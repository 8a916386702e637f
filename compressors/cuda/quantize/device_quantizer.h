// Quantisers of tensors on a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "compressors/compressor.h"
#include "compressors/cuda/device/device_compressor.h"
#include "compressors/cuda/encode/device_decodes.h"
#include "compressors/cuda/kernels/batch.h"
#include "compressors/wire/bytes.h"

namespace thinpipe::cuda {

template <class Device>
class DeviceQuantizer {
 public:
  virtual ~DeviceQuantizer() = default;

  virtual std::size_t max_encoded_size(std::size_t tensor, std::size_t elements) const = 0;
  /// Elements of the tiles that kernels are launched on.
  virtual std::uint32_t tile() const { return kTile; }
  /// Whether elements are packed before they are written.
  virtual bool packs() const { return false; }
  /// Allocates a tensor's permanent workspace on the device.
  virtual void open(Device& /*device*/, std::size_t /*tensor*/, Job& /*job*/) {}
  /// Sets this step's random key, where anything is drawn.
  virtual void prepare(std::size_t /*tensor*/, const DeviceStep& /*step*/, Job& /*job*/) {}
  /// Quantisers whose scale all workers may share: launches what finds this worker's scales, which
  /// become Findings::scale, and does the memories' sums on the way.
  virtual bool shares_scale() const { return false; }
  virtual void launch_scales(Device& /*device*/, const Batch& /*batch*/) {}

  /// Writes the payloads of all tensors, and does the memories' sums on the way. Launches are the
  /// same in every step (DeviceBase::repeat).
  virtual void launch(Device& device, const Batch& batch) = 0;

  /// Quantisers whose step is several all-reduces: the most of any tensor, and what each launches;
  /// round 1 is in place of launch(), those after it find the means in Job::mean. The last leaves
  /// the aggregate's payload.
  virtual int rounds() const { return 1; }
  virtual void launch_round(Device& /*device*/, const Batch& /*batch*/, int /*round*/) {}
  /// After the last: the payload of this worker's part, to the host. Waits for it.
  virtual void own_payload(Device& /*device*/, std::size_t /*tensor*/, ByteWriter& /*out*/) const {}

  /// Whether a payload can be that long.
  virtual bool fits(std::size_t tensor, std::size_t bytes, std::size_t elements) const {
    return bytes == max_encoded_size(tensor, elements);
  }
  /// Sets the job fields, blocks and workspace of the kernels for a payload. Most have a block for
  /// each tile of kTile elements.
  virtual void plan_decode(Device& /*device*/, DecodeJob& job, DecodePlan& plan) {
    plan[DecodeGrid::kElements] = tiles_of(job.payload.n, kTile);
  }
  virtual void decode(Device& device, const DecodeBatch& batch) = 0;
  // State carried between steps, besides the memory; most have none.
  virtual void reset(Device& /*device*/) {}
  virtual std::size_t state_size(std::size_t /*tensor*/) const { return 0; }
  virtual void save(Device& /*device*/, std::size_t /*tensor*/, ByteWriter& /*out*/) const {}
  virtual void load(Device& /*device*/, std::size_t /*tensor*/, ByteReader& /*in*/) {}

  /// Words for the number that a decoding left in `problem`.
  virtual std::string problem(std::uint32_t number) const = 0;
};

}  // namespace thinpipe::cuda
