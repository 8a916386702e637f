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

// Distances above a location that a fraction of the fitted distribution exceeds. `factor` is ln(1 /
// fraction), which only the host computes.

/// Exponential (SIDCo eqs. 6, 10 and 11).
struct ExponentialExcess {
  THINPIPE_KERNEL static double of(const Job& /*job*/, const Totals& totals, double location,
                                   double factor) {
    return (totals.sum / totals.count - location) * factor;
  }
};
/// Generalised Pareto (eqs. 7 to 9, 28 and 29).
struct ParetoExcess {
  THINPIPE_KERNEL static double of(const Job& /*job*/, const Totals& totals, double location,
                                   double factor) {
    const Dispersion spread{totals.sum, totals.squares, totals.count};
    return pareto_excess_of(spread.mean() - location, spread.variance(), factor);
  }
};
/// Gamma (eqs. 15 and 16), of all magnitudes; `exact`: with the distribution's exact quantile.
template <bool exact>
struct GammaExcess {
  THINPIPE_KERNEL static double of(const Job& job, const Totals& totals, double /*location*/,
                                   double factor) {
    const double mean = totals.sum / static_cast<double>(totals.count);
    if constexpr (exact) {
      return gamma_exact_excess_of(mean, totals.mean_log, job.delta, factor);
    } else {
      return gamma_excess_of(mean, totals.mean_log, factor);
    }
  }
};

/// Fits a distribution to all magnitudes.
template <class Excess>
struct FitAll {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    set_threshold(job, totals.count == 0 ? 0 : Excess::of(job, totals, 0, job.factor));
  }
};

/// Fits a distribution to the excess of magnitudes over the previous stage's threshold or
/// (`from_least`, with LeastOf sums) over the minimum magnitude above it. If no magnitude exceeds
/// the threshold, it stays.
template <class Excess, bool from_least = false>
struct FitTail {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    if (totals.count == 0) return;
    const double location =
        from_least
            ? static_cast<double>(magnitude_of(static_cast<std::int32_t>(kMaxKey - totals.most)))
            : job.findings->threshold;
    set_threshold(job, location + Excess::of(job, totals, location, job.later_factor));
  }
};

template <class Device>
class SidcoSelector : public DeviceSelector<Device> {
 public:
  explicit SidcoSelector(const MakerInput& input)
      : options_(sidco_options(input.parameters)),
        adaptation_(input.tensors.size(), SidcoStages({.every = options_.every,
                                                       .tolerance = options_.tolerance,
                                                       .rule = options_.rule})),
        most_(input.tensors.size(), 1) {}

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
        add_up<Reading::kSum, FitAll<ExponentialExcess>>(device, batch, 1);
        if (options_.location_min)
          return choose<FitTail<ExponentialExcess, true>, LeastOf<MagnitudeSums>>(device, batch, 2);
        // The second stage adds up the elements over the first threshold without selecting them.
        if (batch.fits > 1)
          add_up<Reading::kAsIs, Tail, MagnitudeSums, Of::kTail>(device, batch, 2);
        return choose<Tail, MagnitudeSums>(device, batch, 3);
      case SidcoDistribution::kPareto:
        add_up<Reading::kSum, FitAll<ParetoExcess>, Squares>(device, batch, 1);
        return choose_tail(device, batch);
      case SidcoDistribution::kGamma:
        if (options_.exact_gamma) {
          add_up<Reading::kSum, FitAll<GammaExcess<true>>, LogSums>(device, batch, 1);
        } else {
          add_up<Reading::kSum, FitAll<GammaExcess<false>>, LogSums>(device, batch, 1);
        }
        return choose_tail(device, batch);
    }
  }
  bool note(std::size_t tensor, const Job& job, const Findings& findings) override {
    if (options_.fixed_stages == 0 && job.n > 0)
      adaptation_[tensor].note(findings.counts[job.place], job.target, most_[tensor]);
    return true;
  }

  void reset(Device& /*device*/) override {
    for (SidcoStages& stages : adaptation_) stages.reset();
  }
  std::size_t state_size(std::size_t /*tensor*/) const override { return SidcoStages::kStateSize; }
  void save(Device& /*device*/, std::size_t tensor, ByteWriter& out) const override {
    adaptation_[tensor].save(out);
  }
  void load(Device& /*device*/, std::size_t tensor, ByteReader& in) override {
    adaptation_[tensor].load(in);
  }

 private:
  using Squares = SpreadSumsOf<true>;
  using Tail = FitTail<ExponentialExcess>;

  /// Returns whether the second stage adds up the tail without a selection before it.
  bool adds_up_tail() const {
    return options_.distribution == SidcoDistribution::kExponential && !options_.location_min;
  }
  void choose_tail(Device& device, const Batch& batch) const {
    if (options_.location_min)
      return choose<FitTail<ParetoExcess, true>, LeastOf<Squares>>(device, batch, 2);
    choose<FitTail<ParetoExcess>, Squares>(device, batch, 2);
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
