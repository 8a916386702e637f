// RedSync's bisection: thresholds between the mean and the greatest magnitude.
#pragma once

#include <utility>

#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/probe.h"
#include "compressors/cuda/select/device_selector.h"
#include "compressors/select/ratio.h"

namespace thinpipe::cuda {

template <class Device>
class RedSyncSelector : public DeviceSelector<Device> {
 public:
  explicit RedSyncSelector(RatioSchedule ratio) : ratio_(std::move(ratio)) {}

  std::size_t max_selected(std::size_t elements) const override { return elements; }
  void prepare(std::size_t /*tensor*/, const DeviceStep& step, Job& job) override {
    job.target = static_cast<std::uint32_t>(target_count(ratio_.at(step.epoch), job.n));
    job.choices = 2;
  }
  void launch(Device& device, const Batch& batch) override {
    using Range = AddUp<Reading::kSum, Of::kAll, FitRange>;
    device.launch(Range{batch.jobs, batch.sum_tiles, 1, 0, {}}, batch.sum_tile_count);
    device.launch(Choose<Reading::kAsIs, false>{batch.jobs, batch.tiles, 1, {}}, batch.tile_count);
    device.launch(ProbeThresholds{batch.jobs, batch.tiles}, batch.tile_count);
    device.launch(Choose<Reading::kChosen, false>{batch.jobs, batch.tiles, 2, {}},
                  batch.tile_count);
  }

 private:
  RatioSchedule ratio_;
};

}  // namespace thinpipe::cuda
