// SIDCo: one kernel per stage computes the statistics and fits the distribution. The host adapts
// the number of stages to the counts of selected elements, which it downloads anyway.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/fits.h"
#include "compressors/cuda/select/device_selector.h"
#include "compressors/methods/sidco.h"

namespace thinpipe::cuda {

template <class Device>
class SidcoSelector : public DeviceSelector<Device> {
 public:
  SidcoSelector(std::size_t tensors, SidcoOptions options)
      : options_(std::move(options)),
        adaptation_(tensors, SidcoStages({.every = options_.every,
                                          .tolerance = options_.tolerance,
                                          .climb = options_.climb})),
        most_(tensors, 1) {}

  std::size_t max_selected(std::size_t elements) const override { return elements; }

  void prepare(std::size_t tensor, const DeviceStep& step, Job& job) override {
    const double ratio = options_.ratio.at(step.epoch);
    job.target = static_cast<std::uint32_t>(target_count(ratio, job.n));
    most_[tensor] = std::max(1, static_cast<int>(std::ceil(-std::log2(ratio))));
    int stages = options_.fixed_stages > 0 ? options_.fixed_stages
                                           : adaptation_[tensor].stages(most_[tensor]);
    if (ratio >= options_.first_ratio) stages = 1;
    job.fits = static_cast<std::uint32_t>(stages);
    job.choices = static_cast<std::uint32_t>(adds_up_tail() ? std::max(1, stages - 1) : stages);
    job.delta = stages == 1 ? ratio : options_.first_ratio;
    job.factor = -std::log(job.delta);
    job.later_factor = -std::log(std::pow(ratio / options_.first_ratio, 1.0 / (stages - 1)));
  }

  void launch(Device& device, const Batch& batch) override {
    switch (options_.distribution) {
      case SidcoDistribution::kExponential:
        add_up<Reading::kSum, FitExponential>(device, batch, 1);
        if (options_.location_min)
          return choose<FitExponentialTail<true>, LeastOf<MagnitudeSums>>(device, batch, 2);
        // The second stage adds up the elements over the first threshold without selecting them.
        if (batch.fits > 1)
          add_up<Reading::kAsIs, FitExponentialTail<>, MagnitudeSums, Of::kTail>(device, batch, 2);
        return choose<FitExponentialTail<>, MagnitudeSums>(device, batch, 3);
      case SidcoDistribution::kPareto:
        add_up<Reading::kSum, FitPareto, Squares>(device, batch, 1);
        return choose_tail(device, batch);
      case SidcoDistribution::kGamma:
        if (options_.exact_gamma) {
          add_up<Reading::kSum, FitGammaExactly, LogSums>(device, batch, 1);
        } else {
          add_up<Reading::kSum, FitGamma, LogSums>(device, batch, 1);
        }
        return choose_tail(device, batch);
    }
  }
  bool note(std::size_t tensor, const Job& job, const Findings& findings) override {
    if (options_.fixed_stages == 0 && job.n > 0)
      adaptation_[tensor].note(findings.counts[job.place], job.target, most_[tensor]);
    return true;
  }

  void reset() override {
    for (SidcoStages& stages : adaptation_) stages.reset();
  }
  std::size_t state_size(std::size_t /*tensor*/) const override { return SidcoStages::kStateSize; }
  void save(std::size_t tensor, ByteWriter& out) const override { adaptation_[tensor].save(out); }
  void load(std::size_t tensor, ByteReader& in) override { adaptation_[tensor].load(in); }

 private:
  using Squares = SpreadSumsOf<true>;

  /// Returns whether the second stage adds up the tail without a selection before it.
  bool adds_up_tail() const {
    return options_.distribution == SidcoDistribution::kExponential && !options_.location_min;
  }
  void choose_tail(Device& device, const Batch& batch) const {
    if (options_.location_min)
      return choose<FitParetoTail<true>, LeastOf<Squares>>(device, batch, 2);
    choose<FitParetoTail<>, Squares>(device, batch, 2);
  }
  template <Reading reading, class Fit, class Sums = MagnitudeSums, Of of = Of::kAll>
  static void add_up(Device& device, const Batch& batch, std::uint32_t fit,
                     std::uint32_t choice = 0) {
    device.launch(AddUp<reading, of, Fit, Sums>{batch.jobs, batch.sum_tiles, fit, choice, {}},
                  batch.sum_tile_count);
  }
  /// Selects elements and fits the selected ones, from the `fit`-th fit on.
  template <class Fit, class Sums>
  static void choose(Device& device, const Batch& batch, std::uint32_t fit) {
    choose_elements<Reading::kAsIs, Reaching<>>(device, batch, 1);
    for (std::uint32_t choice = 2; choice <= batch.choices; ++choice, ++fit) {
      add_up<Reading::kChosen, Fit, Sums>(device, batch, fit, choice - 1);
      choose_elements<Reading::kChosen, Reaching<>>(device, batch, choice);
    }
  }

  SidcoOptions options_;
  std::vector<SidcoStages> adaptation_;
  std::vector<int> most_;
};

}  // namespace thinpipe::cuda
