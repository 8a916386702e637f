// Warms up, validates and times all compressors on one tensor in a device's memory. Each run times
// only as many compressors as fit into this memory.
#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <span>
#include <vector>

#include "compressors/compressor.h"
#include "compressors/cuda/timed_device.h"
#include "compressors/spec.h"
#include "harness/bench/bench.h"
#include "harness/bench/options.h"
#include "harness/bench/results.h"
#include "harness/options/terminal.h"

namespace thinpipe {

/// Several copies of one tensor's values in the device's memory. Indices wrap around.
class DeviceInputs {
 public:
  /// @param values  every input has these values, rotated by a different number of elements; must
  /// outlive this object
  /// @throws RunError when the device's memory does not suffice
  DeviceInputs(const TimedDevice& device, TensorInfo tensor, std::span<const float> values,
               Residency residency);

  const TensorInfo& tensor() const { return tensor_; }
  std::size_t elements() const { return tensor_.elements; }
  /// Returns the number of inputs until the first one is used again: together twice the L2 cache.
  std::size_t rotation() const { return gradients_.size(); }

  const float* gradient(std::size_t step) const { return gradients_[step % rotation()]; }
  float* output(std::size_t step) const { return outputs_[step % rotation()]; }
  /// Copies gradient(step) to the host. @param out  elements() values
  void values(std::size_t step, std::span<float> out) const;

 private:
  TensorInfo tensor_;
  std::span<const float> values_;
  std::vector<float*> gradients_, outputs_;
};

/// Warms up, validates and times all compressors on one tensor. Adds one group of results and the
/// device to `result`, compressor errors to its failures, and the rows of Google Benchmark's JSON
/// to `rows`.
/// @param open  opens a device with all memory free; opening the device anew frees the memory of
/// compressors
/// @param values  gradient of the tensor
/// @throws RunError if interrupted, or if the device itself fails its checks
void bench_on_device(const std::vector<Spec>& specs, const BenchOptions& options,
                     const OpenDevice& open, const TensorInfo& tensor,
                     std::span<const float> values, Progress& progress, BenchResult& result,
                     std::vector<benchmark::BenchmarkReporter::Run>& rows);

}  // namespace thinpipe
