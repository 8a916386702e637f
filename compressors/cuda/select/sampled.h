// Thresholds from a sample: for gradient dropping's variant, and for DGC.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/kth.h"
#include "compressors/cuda/kernels/sample.h"
#include "compressors/cuda/select/device_selector.h"

namespace thinpipe::cuda {

/// Plans a sample, of which the ratio's fraction reaches the threshold.
inline void plan_sample(double sample, double ratio, std::uint64_t seed, Job& job) {
  job.sampled = count_of(sample, job);
  job.sample_rank = std::min(job.sampled, count_of(sample * ratio, job));
  job.sample_seed = seed;
}

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
    job.target = count_of(ratio, job);
    plan_sample(options_.sample, ratio, seed_of(options_.seeds[tensor], step), job);
  }

 protected:
  void sample(Device& device, const Batch& batch) const {
    batch.launch_tiles<GatherSample<>>(device, batch.jobs, options_.sampling);
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

  void launch(Device& device, const Batch& batch) override {
    this->sample(device, batch);
    choose_elements<Reading::kSum, Reaching<>>(device, batch, 1);
  }
};

/// Checks the number of elements that the first selection pass chose. If it is too small and the
/// threshold may still be lowered, the second pass keeps nothing, and the selection is repeated
/// with a lower threshold. Otherwise the chosen elements stay, unless a later search reduces them.
struct JudgeCount {
  THINPIPE_KERNEL void operator()(const Job& job, std::uint32_t count) const {
    const bool too_few = std::uint64_t{10} * count < std::uint64_t{8} * job.target;
    const bool wait = too_few && job.may_lower;
    if (wait) job.findings->limit = static_cast<std::uint32_t>(kMaxKey);
    job.findings->ties = wait ? 0 : kAllTies;
  }
};

/// Multiplies the threshold by 0.8. Grid: one block per tensor.
struct LowerThreshold {
  static constexpr int kThreads = 32;
  struct Shared {};

  const Job* jobs;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
    constexpr double kLower = 0.8;
    const Job job = jobs[block.index()];
    once(block, [&] { set_threshold(job, job.findings->threshold * kLower); });
  }
};

/// Selects by a sampled threshold. Lowering the threshold needs a round trip to the host.
template <class Device>
class DgcSelector : public SampledSelector<Device> {
 public:
  DgcSelector(std::size_t tensors, DeviceSampleOptions options)
      : SampledSelector<Device>(std::move(options)), lowered_(tensors, 0) {}

  std::size_t max_selected(std::size_t elements) const override {
    return std::min(elements, 13 * target_count(this->ratio().greatest(), elements) / 10);
  }
  void prepare(std::size_t tensor, const DeviceStep& step, Job& job) override {
    SampledSelector<Device>::prepare(tensor, step, job);
    job.choices = 2;
    job.may_lower = true;
    lowered_[tensor] = 0;
  }
  void launch(Device& device, const Batch& batch) override {
    this->sample(device, batch);
    choose<Reading::kSum>(device, batch);
  }
  bool note(std::size_t tensor, const Job& job, const Findings& findings) override {
    const std::uint64_t chosen = findings.counts[place_of(1)];
    return lowered_[tensor] == kMaxLowered || 10 * chosen >= std::uint64_t{8} * job.target;
  }
  void retry(std::size_t tensor, Job& job) override {
    job.may_lower = ++lowered_[tensor] < kMaxLowered;
  }
  void launch_again(Device& device, const Batch& batch) override {
    device.launch(LowerThreshold{batch.jobs}, batch.tensors);
    choose<Reading::kAsIs>(device, batch);
  }

 private:
  static constexpr int kMaxLowered = 10;

  template <Reading reading>
  static void choose(Device& device, const Batch& batch) {
    choose_elements<reading, Reaching<>, JudgeCount>(device, batch, 1);
    find_kth<CrowdedKeys>(device, batch);
    choose_elements<Reading::kChosen, ReachingWithTies<>>(device, batch, 2);
  }

  std::vector<int> lowered_;  ///< by tensor, how often in this step
};

}  // namespace thinpipe::cuda
