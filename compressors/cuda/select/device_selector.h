// Which elements of tensors on a device are sent: the kernels of a step between memory and payload.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compressors/compressor.h"
#include "compressors/cuda/device/device_compressor.h"
#include "compressors/cuda/kernels/batch.h"
#include "compressors/wire/bytes.h"

namespace thinpipe::cuda {

/// Selector for all tensors of a compressor. A step is: prepare() each tensor's job, launch(), and
/// when that is done note() each tensor's findings.
template <class Device>
class DeviceSelector {
 public:
  virtual ~DeviceSelector() = default;

  /// The most elements of `elements` that are ever chosen.
  virtual std::size_t max_selected(std::size_t elements) const = 0;
  /// The most elements that a sample has which more than one kernel sees; 0: there is none.
  virtual std::size_t max_sampled(std::size_t /*elements*/) const { return 0; }
  /// Allocates further device memory of a tensor's job.
  virtual void allocate(Device& /*device*/, std::size_t /*tensor*/, Job& /*job*/) {}
  /// Findings before the first step.
  virtual Findings initial() const { return {}; }
  /// Fills target, sample, factors, fits and choices.
  virtual void prepare(std::size_t tensor, const DeviceStep& step, Job& job) = 0;
  /// Chooses elements of all tensors, and does the memories' sums on the way. Launches depend on
  /// the batch's fits and choices alone (DeviceBase::repeat).
  virtual void launch(Device& device, const Batch& batch) = 0;
  /// Learns from what was chosen. False: the choice failed and must be made again with the same
  /// job, changed by retry(), over sums that have been done.
  virtual bool note(std::size_t /*tensor*/, const Job& /*job*/, const Findings& /*findings*/) {
    return true;
  }
  virtual void retry(std::size_t /*tensor*/, Job& /*job*/) {}
  virtual void launch_again(Device& /*device*/, const Batch& /*batch*/) {}

  // State carried between steps; most selectors have none.
  virtual void reset() {}
  virtual std::size_t state_size(std::size_t /*tensor*/) const { return 0; }
  virtual void save(std::size_t /*tensor*/, ByteWriter& /*out*/) const {}
  virtual void load(std::size_t /*tensor*/, ByteReader& /*in*/) {}
};

}  // namespace thinpipe::cuda
