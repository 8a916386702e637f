// SIDCo: one kernel per stage computes the statistics and fits the distribution, without a round
// trip to the host. The host adapts the number of stages to the counts of selected elements, which
// it downloads anyway.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/select/device_selector.h"
#include "compressors/kernels/keys.h"
#include "compressors/kernels/sums.h"
#include "compressors/methods/sidco.h"

namespace thinpipe::cuda {

/// Fits an exponential distribution to all magnitudes (SIDCo eq. 6).
struct FitExponential {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    set_threshold(job, totals.count == 0 ? 0 : totals.sum / totals.count * job.factor);
  }
};

/// Returns the magnitude at which the tail begins that SIDCo fits in its second and later stages.
/// This is the previous stage's threshold or (`from_least`, with LeastOf sums) the minimum
/// magnitude above it.
template <bool from_least>
THINPIPE_KERNEL double location_of(const Job& job, const Totals& totals) {
  if (!from_least) return job.findings->threshold;
  return static_cast<double>(magnitude_of(static_cast<std::int32_t>(kMaxKey - totals.most)));
}

/// Fits an exponential distribution to the excess of magnitudes over the previous stage's threshold
/// (SIDCo eqs. 10 and 11). If no magnitude exceeds it, the threshold stays.
template <bool from_least = false>
struct FitExponentialTail {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    if (totals.count == 0) return;
    const double location = location_of<from_least>(job, totals);
    const double excess = (totals.sum / totals.count - location) * job.later_factor;
    set_threshold(job, location + excess);
  }
};

/// Fits a generalised Pareto distribution to all magnitudes (eqs. 7 to 9).
struct FitPareto {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    if (totals.count == 0) return set_threshold(job, 0);
    const Dispersion spread{totals.sum, totals.squares, totals.count};
    set_threshold(job, pareto_excess_of(spread.mean(), spread.variance(), job.factor));
  }
};

/// Fits the excess over the previous stage's threshold (eqs. 28 and 29).
template <bool from_least = false>
struct FitParetoTail {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    if (totals.count == 0) return;
    const double location = location_of<from_least>(job, totals);
    const Dispersion spread{totals.sum, totals.squares, totals.count};
    set_threshold(job, location + pareto_excess_of(spread.mean() - location, spread.variance(),
                                                   job.later_factor));
  }
};

/// Fits a gamma distribution to all magnitudes (eqs. 15 and 16).
struct FitGamma {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    if (totals.count == 0) return set_threshold(job, 0);
    const double mean = totals.sum / static_cast<double>(totals.count);
    set_threshold(job, gamma_excess_of(mean, totals.mean_log, job.factor));
  }
};

/// As FitGamma, with the distribution's exact quantile (inverse=exact).
struct FitGammaExactly {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    if (totals.count == 0) return set_threshold(job, 0);
    const double mean = totals.sum / static_cast<double>(totals.count);
    set_threshold(job, gamma_exact_excess_of(mean, totals.mean_log, job.delta, job.factor));
  }
};

template <class Device>
class SidcoSelector : public DeviceSelector<Device> {
 public:
  SidcoSelector(std::size_t tensors, SidcoOptions options)
      : options_(std::move(options)),
        adaptation_(tensors, SidcoStages({.every = options_.every,
                                          .tolerance = options_.tolerance,
                                          .climb = options_.climb})),
        most_(tensors, 1) {}

  void prepare(std::size_t tensor, const DeviceStep& step, Job& job) override {
    const double ratio = options_.ratio.at(step.epoch);
    job.target = count_of(ratio, job);
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
    batch.launch_sum_tiles<AddUp<reading, of, Fit, Sums>>(device, Fit{}, fit, choice);
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
