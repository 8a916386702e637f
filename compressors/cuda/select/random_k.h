// Selects random elements, which receivers draw as well (select/random_k.h).
#pragma once

#include <limits>
#include <utility>
#include <vector>

#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/draw.h"
#include "compressors/cuda/select/device_selector.h"
#include "compressors/select/selector.h"

namespace thinpipe::cuda {

template <class Device>
class RandomKSelector : public DeviceSelector<Device> {
 public:
  /// @param seeds  by tensor
  RandomKSelector(RatioSchedule ratio, bool unbiased, std::vector<std::uint64_t> seeds)
      : ratio_(std::move(ratio)), unbiased_(unbiased), seeds_(std::move(seeds)) {}

  std::size_t max_selected(std::size_t elements) const override {
    return target_count(ratio_.greatest(), elements);
  }
  Findings initial() const override {
    Findings findings;
    findings.threshold = std::numeric_limits<double>::quiet_NaN();
    return findings;
  }
  void allocate(Device& device, std::size_t tensor, Job& job) override {
    const std::size_t words = (std::size_t{job.n} + 31) / 32;
    job.drawn = static_cast<std::uint32_t*>(device.allocate(words * sizeof(std::uint32_t)));
    job.sample_seed = seeds_[tensor];
  }
  void prepare(std::size_t /*tensor*/, const DeviceStep& step, Job& job) override {
    job.target = static_cast<std::uint32_t>(target_count(ratio_.at(step.epoch), job.n));
    job.tag = static_cast<std::uint32_t>(step.step);
    const bool scaled = unbiased_ && job.target > 0;
    job.factor = scaled ? static_cast<double>(job.n) / job.target : 1;
  }
  void launch(Device& device, const Batch& batch) override {
    device.launch(DrawForStep{batch.jobs}, batch.tensors);
    choose_elements<Reading::kSum, Drawn>(device, batch, 1);
  }

 private:
  RatioSchedule ratio_;
  bool unbiased_;
  std::vector<std::uint64_t> seeds_;
};

}  // namespace thinpipe::cuda
