// GaussianK: the threshold of a normal distribution, corrected after a few counts
// (select/gaussiank.h).
#pragma once

#include <cmath>
#include <utility>

#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/count_limits.h"
#include "compressors/cuda/kernels/fits.h"
#include "compressors/cuda/select/device_selector.h"
#include "compressors/kernels/sums.h"
#include "compressors/methods/selectors.h"
#include "compressors/select/distributions.h"

namespace thinpipe::cuda {

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

  std::size_t max_selected(std::size_t elements) const override { return elements; }
  void prepare(std::size_t /*tensor*/, const DeviceStep& step, Job& job) override {
    const double ratio = options_.ratio.at(step.epoch);
    job.target = static_cast<std::uint32_t>(target_count(ratio, job.n));
    job.factor = std::fabs(normal_quantile(ratio / 2));
  }
  void launch(Device& device, const Batch& batch) override {
    using Fit = AddUp<Reading::kSum, Of::kAll, FitNormal, SpreadSums>;
    device.launch(Fit{batch.jobs, batch.sum_tiles, 1, 0, {}}, batch.sum_tile_count);
    const GaussianKSteps steps = options_.oktopk ? kOkTopKSteps : kGaussianKSteps;
    // The last round selects the elements instead of counting them.
    for (int round = 1; round < steps.rounds; ++round) {
      device.launch(CountLimits<Reading::kAsIs, CorrectThreshold>{batch.jobs, batch.parts, {steps}},
                    batch.part_count);
    }
    choose_elements<Reading::kAsIs, Reaching<>>(device, batch, 1);
  }

 private:
  GaussianKOptions options_;
};

}  // namespace thinpipe::cuda
