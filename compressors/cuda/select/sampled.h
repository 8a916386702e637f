// Thresholds from a sample: for gradient dropping's variant, and for DGC.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/gather.h"
#include "compressors/cuda/kernels/kth.h"
#include "compressors/cuda/select/device_selector.h"
#include "compressors/select/selector.h"

namespace thinpipe::cuda {

struct DeviceSampleOptions {
  RatioSchedule ratio = {};
  double sample = 0.01;
  Sampling sampling = Sampling::kUniform;
  std::vector<std::uint64_t> seeds = {};  ///< of each tensor
};

/// Draws a sample and takes the threshold that the ratio's fraction of the sample reaches.
template <class Device>
class SampledSelector : public DeviceSelector<Device> {
 public:
  explicit SampledSelector(DeviceSampleOptions options) : options_(std::move(options)) {}

  std::size_t max_sampled(std::size_t elements) const override {
    return target_count(options_.sample, elements);
  }
  void prepare(std::size_t tensor, const DeviceStep& step, Job& job) override {
    const double ratio = options_.ratio.at(step.epoch);
    const auto count = [&](double fraction) {
      return static_cast<std::uint32_t>(target_count(fraction, job.n));
    };
    job.target = count(ratio);
    job.sampled = count(options_.sample);
    job.sample_rank = std::min(job.sampled, count(options_.sample * ratio));
    job.sample_seed = SplitMix64::mix(options_.seeds[tensor] ^ SplitMix64::mix(step.step));
  }

 protected:
  void sample(Device& device, const Batch& batch) const {
    device.launch(GatherSample<>{batch.jobs, batch.jobs, batch.tiles, options_.sampling},
                  batch.tile_count);
    find_kth<SampledKeys>(device, batch);
  }
  const RatioSchedule& ratio() const { return options_.ratio; }

 private:
  DeviceSampleOptions options_;
};

/// Selects the elements that exceed the threshold.
template <class Device>
class SampledThresholdSelector : public SampledSelector<Device> {
 public:
  using SampledSelector<Device>::SampledSelector;

  std::size_t max_selected(std::size_t elements) const override { return elements; }
  void launch(Device& device, const Batch& batch) override {
    this->sample(device, batch);
    choose_elements<Reading::kSum, Reaching<>>(device, batch, 1);
  }
};

}  // namespace thinpipe::cuda
