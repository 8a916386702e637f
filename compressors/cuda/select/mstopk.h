// MSTopK: bisects the threshold, then selects exactly k elements (select/mstopk.h).
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "compressors/cuda/kernels/bracket.h"
#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/count_limits.h"
#include "compressors/cuda/select/device_selector.h"
#include "compressors/select/selector.h"

namespace thinpipe::cuda {

/// One kernel counts elements for three rounds of bisection. The first nine rounds read all
/// elements. A selection pass then collects the few elements that may still matter, and the later
/// rounds read only these elements.
template <class Device>
class MsTopKSelector : public DeviceSelector<Device> {
 public:
  MsTopKSelector(RatioSchedule ratio, int rounds, std::vector<std::uint64_t> seeds)
      : ratio_(std::move(ratio)), rounds_(rounds), seeds_(std::move(seeds)) {}

  std::size_t max_selected(std::size_t elements) const override {
    return target_count(ratio_.greatest(), elements);
  }
  void prepare(std::size_t tensor, const DeviceStep& step, Job& job) override {
    job.target = static_cast<std::uint32_t>(target_count(ratio_.at(step.epoch), job.n));
    job.choices = 2;
    job.sample_seed = SplitMix64::mix(seeds_[tensor] ^ SplitMix64::mix(step.step));
  }
  void launch(Device& device, const Batch& batch) override {
    using Range = AddUp<Reading::kSum, Of::kAll, FitBracket>;
    device.launch(Range{batch.jobs, batch.sum_tiles, 1, 0, {}}, batch.sum_tile_count);
    int left = rounds_;
    for (int pass = 0; pass < kPasses && left > 0; ++pass)
      left = halve<Reading::kAsIs>(device, batch, left);
    choose_elements<Reading::kAsIs, Reaching<>>(device, batch, 1);
    while (left > 0) left = halve<Reading::kChosen>(device, batch, left);
    // Without a lower threshold, the neighbours may be any elements.
    choose_elements<Reading::kAsIs, Bracketed>(device, batch, 2);
  }

 private:
  static constexpr int kPasses = 3;

  template <Reading reading>
  static int halve(Device& device, const Batch& batch, int left) {
    const int rounds = std::min(left, HalveBracket::kRounds);
    device.launch(
        CountLimits<reading, HalveBracket>{batch.jobs, batch.parts, {rounds, rounds == left}},
        batch.part_count);
    return left - rounds;
  }

  RatioSchedule ratio_;
  int rounds_;
  std::vector<std::uint64_t> seeds_;
};

}  // namespace thinpipe::cuda
