// Interface of selectors on the GPU: the kernels of a step between memory and payload.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/splitmix64.h"
#include "compressors/cuda/device/device_compressor.h"
#include "compressors/cuda/device/makers.h"
#include "compressors/cuda/kernels/batch.h"
#include "compressors/methods/common.h"
#include "compressors/select/selector.h"

namespace thinpipe::cuda {

/// Returns how many of the job's elements a fraction takes.
inline std::uint32_t count_of(double fraction, const Job& job) {
  return static_cast<std::uint32_t>(target_count(fraction, job.n));
}
/// Returns the seed of a step's random choices.
inline std::uint64_t seed_of(std::uint64_t seed, const DeviceStep& step) {
  return SplitMix64::mix(seed ^ SplitMix64::mix(step.step));
}

/// Selects elements of all tensors of a compressor. A step is: prepare() for each tensor's job,
/// launch(), and, when its kernels have finished, note() for each tensor's findings.
template <class Device>
class DeviceSelector : public DevicePart<Device> {
 public:
  /// Returns the maximum number of elements selected from `elements`.
  virtual std::size_t max_selected(std::size_t elements) const { return elements; }
  /// Returns the maximum size of a sample that several kernels use; 0: no such sample.
  virtual std::size_t max_sampled(std::size_t /*elements*/) const { return 0; }
  /// Allocates a tensor's further workspace on the device.
  virtual void allocate(Device& /*device*/, std::size_t /*tensor*/, Job& /*job*/) {}
  /// Sets the job's target, sample, factors, fits and choices.
  virtual void prepare(std::size_t tensor, const DeviceStep& step, Job& job) = 0;
  /// Launches the kernels that select elements of all tensors and update the memories. Launches may
  /// depend only on the batch's fits and choices (DeviceBase::repeat).
  virtual void launch(Device& device, const Batch& batch) = 0;
  /// Keeps what later steps need of the findings of a tensor's selection. Returns false if the
  /// selection failed because it chose a wrong number of elements. The caller then calls retry()
  /// for the job of each such tensor, in the order of the tensors, and repeats all their selections
  /// by one launch_again(), which reads the error-feedback memories: launch() has already added the
  /// gradients to them.
  virtual bool note(std::size_t /*tensor*/, const Job& /*job*/, const Findings& /*findings*/) {
    return true;
  }
  virtual void retry(std::size_t /*tensor*/, Job& /*job*/) {}
  virtual void launch_again(Device& /*device*/, const Batch& /*batch*/) {}
};

/// A selector of a fraction of the elements.
template <class Device>
class RatioSelector : public DeviceSelector<Device> {
 public:
  /// @param name  of the parameter
  explicit RatioSelector(const MakerInput& input, const std::string& name = "ratio")
      : ratio_(ratio_of(input.parameters, name)), seeds_(input.seeds()) {}

  /// Sets the target; derived classes set the rest.
  void prepare(std::size_t /*tensor*/, const DeviceStep& step, Job& job) override {
    job.target = count_of(ratio_.at(step.epoch), job);
  }

 protected:
  std::size_t max_target(std::size_t elements) const {
    return target_count(ratio_.greatest(), elements);
  }
  /// Returns the seed of a step's random choices.
  std::uint64_t random_seed(std::size_t tensor, const DeviceStep& step) const {
    return seed_of(seeds_[tensor], step);
  }

  RatioSchedule ratio_;
  std::vector<std::uint64_t> seeds_;  ///< by tensor
};

}  // namespace thinpipe::cuda
