// Selectors that search a threshold by counting the elements that reach it: RedSync, GaussianK and
// MSTopK.
#pragma once

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/count_limits.h"
#include "compressors/cuda/select/device_selector.h"
#include "compressors/kernels/sums.h"
#include "compressors/methods/selectors.h"
#include "compressors/select/distributions.h"

namespace thinpipe::cuda {

template <class Device>
class RedSyncSelector : public DeviceSelector<Device> {
 public:
  RedSyncSelector(RatioSchedule ratio, bool trim) : ratio_(std::move(ratio)), trim_(trim) {}

  void prepare(std::size_t /*tensor*/, const DeviceStep& step, Job& job) override {
    job.target = count_of(ratio_.at(step.epoch), job);
    job.choices = trim_ ? 1 : 2;
  }
  void launch(Device& device, const Batch& batch) override {
    batch.launch_sum_tiles<AddUp<Reading::kSum, Of::kAll, FitRange>>(device);
    for (int first = 0; trim_ && first < TrimRange::kMax; first += TrimRange::kLimits)
      batch.launch_parts<CountLimits<Reading::kAsIs, TrimRange>>(device, TrimRange{first});
    choose_elements<Reading::kAsIs, Reaching<>>(device, batch, 1);
    if (trim_) return;
    batch.launch_parts<CountLimits<Reading::kChosen, ProbeHalves>>(device, ProbeHalves{});
    choose_elements<Reading::kChosen, Reaching<>>(device, batch, 2);
  }

 private:
  RatioSchedule ratio_;
  bool trim_;
};

/// Sets the threshold to Job::factor standard deviations above the mean.
struct FitNormal {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    job.findings->settled = false;
    if (totals.count == 0) return set_threshold(job, 0);
    const Dispersion spread{totals.sum, totals.squares, totals.count};
    set_threshold(job, spread.mean() + job.factor * std::sqrt(spread.variance()));
  }
};

/// Corrects the threshold by the number of elements that reach it.
struct CorrectThreshold {
  static constexpr int kLimits = 1;

  GaussianKSteps steps;

  THINPIPE_KERNEL std::int32_t limit(const Findings& findings, int /*i*/) const {
    return static_cast<std::int32_t>(findings.limit);
  }
  THINPIPE_KERNEL void found(const Job& job, const std::int32_t* /*limits*/,
                             const std::uint32_t* counts) const {
    const std::uint64_t z = counts[0];
    const std::uint64_t k = job.target;
    Findings& findings = *job.findings;
    if (z * steps.parts < k * steps.few) {
      set_threshold(job, findings.threshold / steps.lower);
    } else if (z * steps.parts > k * steps.many) {
      set_threshold(job, findings.threshold * steps.raise);
    } else {
      findings.settled = true;
    }
  }
};

template <class Device>
class GaussianKSelector : public DeviceSelector<Device> {
 public:
  explicit GaussianKSelector(GaussianKOptions options) : options_(std::move(options)) {}

  void prepare(std::size_t /*tensor*/, const DeviceStep& step, Job& job) override {
    const double ratio = options_.ratio.at(step.epoch);
    job.target = count_of(ratio, job);
    job.factor = std::fabs(normal_quantile(ratio / 2));
  }
  void launch(Device& device, const Batch& batch) override {
    batch.launch_sum_tiles<AddUp<Reading::kSum, Of::kAll, FitNormal, SpreadSums>>(device);
    const GaussianKSteps steps = options_.oktopk ? kOkTopKSteps : kGaussianKSteps;
    // The last round selects the elements instead of counting them.
    using Count = CountLimits<Reading::kAsIs, CorrectThreshold>;
    for (int round = 1; round < steps.rounds; ++round)
      batch.launch_parts<Count>(device, CorrectThreshold{steps});
    choose_elements<Reading::kAsIs, Reaching<>>(device, batch, 1);
  }

 private:
  GaussianKOptions options_;
};

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
    job.target = count_of(ratio_.at(step.epoch), job);
    job.choices = 2;
    job.sample_seed = seed_of(seeds_[tensor], step);
  }
  void launch(Device& device, const Batch& batch) override {
    batch.launch_sum_tiles<AddUp<Reading::kSum, Of::kAll, FitBracket>>(device);
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
    using Count = CountLimits<reading, HalveBracket>;
    batch.launch_parts<Count>(device, HalveBracket{rounds, rounds == left});
    return left - rounds;
  }

  RatioSchedule ratio_;
  int rounds_;
  std::vector<std::uint64_t> seeds_;
};

}  // namespace thinpipe::cuda
