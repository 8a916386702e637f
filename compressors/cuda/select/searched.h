// Selectors that search a threshold by counting the elements that reach it: RedSync, GaussianK and
// MSTopK.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/splitmix64.h"
#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/select/device_selector.h"
#include "compressors/kernels/keys.h"
#include "compressors/kernels/sums.h"
#include "compressors/methods/selectors.h"
#include "compressors/select/distributions.h"

namespace thinpipe::cuda {

/// Counts the elements of c, or of the first choice (kChosen), that reach each limit of a search;
/// then one thread reports the counts to the search. A search has
///   kLimits  the number of limits
///   limit()  the i-th limit
///   found()  called with all limits and counts
/// and ends when Findings::settled is set. Grid: the parts.
template <Reading reading, class Search>
struct CountLimits : OnParts {
  static constexpr int kThreads = 512;
  static constexpr int kLimits = Search::kLimits;
  struct Shared {
    std::int32_t limits[kLimits];
    std::uint32_t counts[kLimits];
  };

  Search search;

  THINPIPE_KERNEL void operator()(auto& block, Shared& shared) const {
    const Part own = parts[block.index()];
    const Job job = jobs[own.job];
    Findings& findings = *job.findings;
    const std::uint32_t from = place_of(1);
    const std::uint32_t count = elements_of<reading>(job, from);
    const PartOfTiles part(job, tiles_of(count, kTile), own.index);
    if (part.is_empty() || findings.settled) return;
    block.each([&](int t) {
      if (t >= kLimits) return;
      shared.limits[t] = search.limit(findings, t);
      shared.counts[t] = 0;
    });
    block.each([&](int t) {
      std::uint32_t reached[kLimits] = {};
      for (std::uint32_t tile = part.first; tile < part.last; ++tile) {
        each_in_tile<kThreads>(t, tile, count, [&](std::uint32_t i) {
          const std::int32_t key = key_of(element<reading>(job, i), KeyOrder::kMagnitude);
          for (int limit = 0; limit < kLimits; ++limit)
            reached[limit] += key >= shared.limits[limit] ? 1 : 0;
        });
      }
      for (int limit = 0; limit < kLimits; ++limit)
        if (reached[limit] > 0) block.add(&shared.counts[limit], reached[limit]);
    });
    block.each([&](int t) {
      if (t < kLimits && shared.counts[t] > 0) block.add(&job.histogram[t], shared.counts[t]);
    });
    if (!block.is_last(&findings.arrived, part.parts)) return;
    once(block, [&] {
      if (job.n > 0) search.found(job, shared.limits, job.histogram);
    });
    block.each([&](int t) {
      if (t < kLimits) job.histogram[t] = 0;
    });
  }
};

// RedSync's probes: thresholds between the mean and the maximum magnitude.

/// Returns the threshold at fraction q of the range from the mean to the maximum magnitude.
THINPIPE_KERNEL inline double probe_at(const Findings& findings, double q) {
  return findings.mean + q * findings.range;
}

/// Sets Findings::limit to the key of the lowest threshold that bisection may use. A threshold is
/// at fraction q of the range from the mean to the maximum magnitude; the lowest is at q = 1/8. If
/// all magnitudes are equal, the rounded mean may be above them. Thresholds then decrease with q.
struct FitRange {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    constexpr double kLowest = 0.125, kHighest = 0.875;
    Findings& findings = *job.findings;
    findings.threshold = 0;
    findings.settled = false;
    findings.limit = static_cast<std::uint32_t>(kMaxKey);
    if (totals.count == 0) return;
    findings.mean = totals.sum / totals.count;
    findings.range =
        static_cast<double>(magnitude_of(static_cast<std::int32_t>(totals.most))) - findings.mean;
    const std::int32_t low = key_above(probe_at(findings, kLowest));
    const std::int32_t high = key_above(probe_at(findings, kHighest));
    findings.limit = static_cast<std::uint32_t>(low < high ? low : high);
  }
};

/// The seven thresholds that three halvings of RedSync's search may use (methods/redsync.cc). Sets
/// Findings::limit to the key of the last threshold that the search used.
struct ProbeHalves {
  static constexpr int kLimits = 7;

  THINPIPE_KERNEL std::int32_t limit(const Findings& findings, int i) const {
    return key_above(probe_at(findings, (i + 1) / 8.0));
  }
  THINPIPE_KERNEL void found(const Job& job, const std::int32_t* limits,
                             const std::uint32_t* counts) const {
    Findings& findings = *job.findings;
    const std::uint64_t k = job.target;
    int low = 0, high = kLimits + 1;  // in eighths
    while (high - low > 1) {
      const int probe = (low + high) / 2;
      const std::uint64_t z = counts[probe - 1];
      findings.threshold = probe_at(findings, probe / 8.0);
      findings.limit = static_cast<std::uint32_t>(limits[probe - 1]);
      if (k < z && z < 2 * k) break;
      (2 * z < k ? high : low) = probe;
    }
  }
};

/// Eight of the thresholds of variant=trim, from number `first`: finds the first one that k
/// elements exceed.
struct TrimRange {
  static constexpr int kLimits = 8;
  static constexpr int kMax = 32;

  int first;

  THINPIPE_KERNEL std::int32_t limit(const Findings& findings, int i) const {
    return key_above(threshold(findings, i));
  }
  THINPIPE_KERNEL void found(const Job& job, const std::int32_t* limits,
                             const std::uint32_t* counts) const {
    Findings& findings = *job.findings;
    for (int i = 0; i < kLimits && !findings.settled; ++i) {
      findings.threshold = threshold(findings, i);
      findings.limit = static_cast<std::uint32_t>(limits[i]);
      findings.settled = counts[i] >= job.target;
    }
    if (findings.range <= 0) findings.settled = true;  // all thresholds are the same
  }

 private:
  /// Divides by 10 once, as in methods/redsync.cc.
  THINPIPE_KERNEL double threshold(const Findings& findings, int i) const {
    return probe_at(findings, (8 - 2 * static_cast<double>(first + i)) / 10);
  }
};

template <class Device>
class RedSyncSelector : public RatioSelector<Device> {
 public:
  explicit RedSyncSelector(const MakerInput& input)
      : RatioSelector<Device>(input), trim_(input.parameters.choice("variant") == "trim") {}

  void prepare(std::size_t tensor, const DeviceStep& step, Job& job) override {
    RatioSelector<Device>::prepare(tensor, step, job);
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
  bool trim_;
};

// GaussianK.

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
class GaussianKSelector : public RatioSelector<Device> {
 public:
  explicit GaussianKSelector(const MakerInput& input)
      : RatioSelector<Device>(input),
        steps_(input.parameters.choice("variant") == "oktopk" ? kOkTopKSteps : kGaussianKSteps) {}

  void prepare(std::size_t tensor, const DeviceStep& step, Job& job) override {
    RatioSelector<Device>::prepare(tensor, step, job);
    job.factor = std::fabs(normal_quantile(this->ratio_.at(step.epoch) / 2));
  }
  void launch(Device& device, const Batch& batch) override {
    batch.launch_sum_tiles<AddUp<Reading::kSum, Of::kAll, FitNormal, SpreadSums>>(device);
    // The last round selects the elements instead of counting them.
    using Count = CountLimits<Reading::kAsIs, CorrectThreshold>;
    for (int round = 1; round < steps_.rounds; ++round)
      batch.launch_parts<Count>(device, CorrectThreshold{steps_});
    choose_elements<Reading::kAsIs, Reaching<>>(device, batch, 1);
  }

 private:
  GaussianKSteps steps_;
};

// MSTopK's bisection (methods/mstopk.cc) for the two thresholds that bracket k elements.

/// Starts the bisection: neither threshold is known.
struct FitBracket {
  THINPIPE_KERNEL void operator()(const Job& job, const Totals& totals) const {
    Findings& findings = *job.findings;
    findings.threshold = 0;
    findings.settled = false;
    findings.low = 0;
    findings.high = 1;
    findings.lower = findings.lower_count = findings.upper_count = 0;
    findings.upper = static_cast<std::uint32_t>(kMaxKey) + 1;
    findings.ties = findings.first_tie = 0;
    if (totals.count == 0) return;
    findings.mean = totals.sum / totals.count;
    const double range =
        static_cast<double>(magnitude_of(static_cast<std::int32_t>(totals.most))) - findings.mean;
    findings.range = range > 0 ? range : 0;
    findings.limit = static_cast<std::uint32_t>(key_reaching(findings.mean));
  }
};

/// Does up to three rounds of MSTopK's bisection. Element counts at seven thresholds suffice for
/// three rounds. Sets Findings::limit to the magnitude key of the lowest threshold that later
/// rounds may use.
struct HalveBracket {
  static constexpr int kLimits = 7;
  static constexpr int kRounds = 3;

  int rounds;  ///< of bisection in this kernel
  bool last;   ///< these are the last rounds

  THINPIPE_KERNEL std::int32_t limit(const Findings& findings, int i) const {
    const double step = (findings.high - findings.low) / (kLimits + 1);
    return key_reaching(probe_at(findings, findings.low + (i + 1) * step));
  }
  THINPIPE_KERNEL void found(const Job& job, const std::int32_t* limits,
                             const std::uint32_t* counts) const {
    Findings& findings = *job.findings;
    int low = 0, high = kLimits + 1;  // exact: each round adds one binary digit to q
    for (int round = 0; round < rounds; ++round) {
      const int middle = (low + high) / 2;
      const double q = (findings.low + findings.high) / 2;
      const auto limit = static_cast<std::uint32_t>(limits[middle - 1]);
      const std::uint32_t count = counts[middle - 1];
      if (count <= job.target) {
        high = middle;
        findings.high = q;
        findings.upper = limit;
        findings.upper_count = count;
      } else {
        low = middle;
        findings.low = q;
        findings.lower = findings.limit = limit;
        findings.lower_count = count;
        findings.threshold = probe_at(findings, q);
      }
    }
    if (last) choose_neighbours(job, findings);
  }

 private:
  /// Chooses the missing elements from those between the two thresholds, consecutive ones from a
  /// random start.
  THINPIPE_KERNEL static void choose_neighbours(const Job& job, Findings& findings) {
    const std::uint32_t reach = findings.lower_count > 0 ? findings.lower_count : job.n;
    SplitMix64 random(job.sample_seed);
    findings.ties = job.target - findings.upper_count;
    findings.first_tie = static_cast<std::uint32_t>(random.below(reach - job.target + 1));
  }
};

/// Keeps all elements that reach the upper threshold, and the consecutive ones chosen above.
struct Bracketed : ChosenAsIs {
  static constexpr bool kTies = true;

  std::uint32_t low;
  std::uint32_t upper;
  std::uint32_t first;
  std::uint32_t allowed;

  THINPIPE_KERNEL static Bracketed of(const Job& job) {
    const Findings& findings = *job.findings;
    return {{}, findings.lower, findings.upper, findings.first_tie, findings.ties};
  }
  THINPIPE_KERNEL Kept look(std::uint32_t /*i*/, float value) const {
    const std::uint32_t rank = rank_of<KeyOrder::kMagnitude>(value);
    return rank >= upper ? Kept::kYes : rank >= low ? Kept::kTie : Kept::kNo;
  }
  THINPIPE_KERNEL std::uint32_t ties(std::uint32_t count) const {
    const std::uint32_t after = count < first ? 0 : count - first;
    return after < allowed ? after : allowed;
  }
};

/// One kernel counts elements for three rounds of bisection. The first nine rounds read all
/// elements. A selection pass then collects the few elements that may still matter, and the later
/// rounds read only these elements.
template <class Device>
class MsTopKSelector : public RatioSelector<Device> {
 public:
  explicit MsTopKSelector(const MakerInput& input)
      : RatioSelector<Device>(input),
        rounds_(static_cast<int>(input.parameters.integer("rounds"))) {}

  std::size_t max_selected(std::size_t elements) const override {
    return this->max_target(elements);
  }
  void prepare(std::size_t tensor, const DeviceStep& step, Job& job) override {
    RatioSelector<Device>::prepare(tensor, step, job);
    job.choices = 2;
    job.sample_seed = this->random_seed(tensor, step);
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

  int rounds_;
};

}  // namespace thinpipe::cuda
