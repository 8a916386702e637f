// RedSync: searches a threshold between the mean and the maximum magnitude, by bisection or from
// the top.
#pragma once

#include <utility>

#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/count_limits.h"
#include "compressors/cuda/kernels/probe.h"
#include "compressors/cuda/select/device_selector.h"
#include "compressors/select/selector.h"

namespace thinpipe::cuda {

template <class Device>
class RedSyncSelector : public DeviceSelector<Device> {
 public:
  RedSyncSelector(RatioSchedule ratio, bool trim) : ratio_(std::move(ratio)), trim_(trim) {}

  std::size_t max_selected(std::size_t elements) const override { return elements; }
  void prepare(std::size_t /*tensor*/, const DeviceStep& step, Job& job) override {
    job.target = static_cast<std::uint32_t>(target_count(ratio_.at(step.epoch), job.n));
    job.choices = trim_ ? 1 : 2;
  }
  void launch(Device& device, const Batch& batch) override {
    using Range = AddUp<Reading::kSum, Of::kAll, FitRange>;
    device.launch(Range{batch.jobs, batch.sum_tiles, 1, 0, {}}, batch.sum_tile_count);
    if (trim_) {
      for (int first = 0; first < TrimRange::kMax; first += TrimRange::kLimits) {
        device.launch(CountLimits<Reading::kAsIs, TrimRange>{batch.jobs, batch.parts, {first}},
                      batch.part_count);
      }
    }
    choose_elements<Reading::kAsIs, Reaching<>>(device, batch, 1);
    if (trim_) return;
    device.launch(CountLimits<Reading::kChosen, ProbeHalves>{batch.jobs, batch.parts, {}},
                  batch.part_count);
    choose_elements<Reading::kChosen, Reaching<>>(device, batch, 2);
  }

 private:
  RatioSchedule ratio_;
  bool trim_;
};

}  // namespace thinpipe::cuda
