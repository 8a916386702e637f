// The gradients that a bench compresses on a device, and the arrays that it decodes into.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/cuda/timed_device.h"
#include "harness/bench/options.h"

namespace thinpipe {

/// One tensor's values in several places of the device's memory. Indices wrap around.
class DeviceInputs {
 public:
  /// @param values  of every input, each beginning with another of them; must outlive this
  /// @throws RunError when the device's memory does not suffice
  DeviceInputs(const TimedDevice& device, TensorInfo tensor, std::span<const float> values,
               Residency residency);

  const TensorInfo& tensor() const { return tensor_; }
  std::size_t elements() const { return tensor_.elements; }
  Residency residency() const { return residency_; }
  /// How many inputs there are before the first one comes again: together twice the L2 cache.
  std::size_t rotation() const { return gradients_.size(); }

  const float* gradient(std::size_t step) const { return gradients_[step % rotation()]; }
  float* output(std::size_t step) const { return outputs_[step % rotation()]; }
  /// What is in gradient(step), for the host. @param out  as many elements
  void values(std::size_t step, std::span<float> out) const;

 private:
  TensorInfo tensor_;
  std::span<const float> values_;
  Residency residency_;
  std::vector<float*> gradients_, outputs_;
};

}  // namespace thinpipe
