// Selectors that sample c (gradient plus memory): exact top-k, gradient dropping's threshold, DGC,
// and Sparse Binary Compression.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "compressors/cuda/encode/value_codes.h"
#include "compressors/cuda/kernels/add_up.h"
#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/kth.h"
#include "compressors/cuda/kernels/sample.h"
#include "compressors/cuda/select/device_selector.h"

namespace thinpipe::cuda {

/// Chooses the elements that reach Findings::limit, searches a key among them, and keeps those that
/// rank at least as high.
template <Reading reading, KeyOrder order = KeyOrder::kMagnitude, class Keys = ChosenKeys<order>,
          class Then = NothingMore, class Device>
void choose_and_refine(Device& device, const Batch& batch) {
  choose_elements<reading, Reaching<order>, Then>(device, batch, 1);
  find_kth<Keys>(device, batch);
  choose_elements<Reading::kChosen, ReachingWithTies<order>>(device, batch, 2);
}

// Exact top-k: a sample estimates the k-th key, one pass selects the candidates, and the k-th key
// is searched among them digit by digit.

/// Plans the sample of a tensor that estimates a limit for its Job::target largest elements, as
/// bracket_of_sample() in select/top_k.h does. The limit's rank in the sample is the expected rank
/// of the k-th key plus four standard deviations.
inline void sample_for_top_k(const DeviceStep& step, Job& job) {
  /// Smaller tensors are searched as a whole: a sample would cost more than it saves.
  constexpr std::uint32_t kMinSampled = 8192;
  constexpr std::uint32_t kSampleDivisor = 64;
  constexpr double kDeviations = 4;
  job.sampled = std::min(job.n / kSampleDivisor, kMaxSample);
  job.sample_seed = seed_of(job.n, step);
  job.sample_rank = 0;
  if (job.n < kMinSampled) return;
  const double fraction = static_cast<double>(job.target) / job.n;
  const double expected = job.sampled * fraction;
  const double margin = kDeviations * std::sqrt(expected * (1 - fraction)) + 1;
  const auto rank = static_cast<std::uint32_t>(expected + margin) + 1;
  if (rank <= job.sampled) job.sample_rank = rank;
}

template <class Device>
class TopKSelector : public RatioSelector<Device> {
 public:
  explicit TopKSelector(const MakerInput& input) : RatioSelector<Device>(input) {}

  std::size_t max_selected(std::size_t elements) const override {
    return this->max_target(elements);
  }
  void prepare(std::size_t tensor, const DeviceStep& step, Job& job) override {
    RatioSelector<Device>::prepare(tensor, step, job);
    job.choices = 2;
    sample_for_top_k(step, job);
  }
  void launch(Device& device, const Batch& batch) override { choose<Reading::kSum>(device, batch); }
  /// Returns false if the sample misled the selection: about one step in 16 000.
  bool note(std::size_t /*tensor*/, const Job& job, const Findings& findings) override {
    return findings.counts[job.place] == job.target;
  }
  void retry(std::size_t /*tensor*/, Job& job) override { job.sample_rank = 0; }
  void launch_again(Device& device, const Batch& batch) override {
    choose<Reading::kAsIs>(device, batch);
  }

 private:
  template <Reading reading>
  static void choose(Device& device, const Batch& batch) {
    device.launch(SampleLimit<>{batch.jobs, batch.jobs}, batch.tensors);
    choose_and_refine<reading>(device, batch);
  }
};

// Thresholds from a sample.

/// Plans a sample, of which the ratio's fraction reaches the threshold.
inline void plan_sample(double sample, double ratio, std::uint64_t seed, Job& job) {
  job.sampled = count_of(sample, job);
  job.sample_rank = std::min(job.sampled, count_of(sample * ratio, job));
  job.sample_seed = seed;
}

/// Selects the elements that exceed the threshold which the ratio's fraction of a sample reaches
/// (gradient dropping).
template <class Device>
class SampledThresholdSelector : public RatioSelector<Device> {
 public:
  explicit SampledThresholdSelector(const MakerInput& input)
      : RatioSelector<Device>(input), sample_(input.parameters.real("sample")) {}

  std::size_t max_sampled(std::size_t elements) const override {
    return target_count(sample_, elements);
  }
  void prepare(std::size_t tensor, const DeviceStep& step, Job& job) override {
    RatioSelector<Device>::prepare(tensor, step, job);
    plan_sample(sample_, this->ratio_.at(step.epoch), this->random_seed(tensor, step), job);
  }
  void launch(Device& device, const Batch& batch) override {
    find_threshold(device, batch, Sampling::kUniform);
    choose_elements<Reading::kSum, Reaching<>>(device, batch, 1);
  }

 protected:
  static void find_threshold(Device& device, const Batch& batch, Sampling sampling) {
    batch.launch_tiles<GatherSample<>>(device, batch.jobs, sampling);
    find_kth<SampledKeys>(device, batch);
  }

 private:
  double sample_;
};

/// Checks the number of elements that the first selection pass chose. If it is too small and the
/// threshold may still be lowered, the second pass keeps nothing, and the selection is repeated
/// with a lower threshold. Otherwise the chosen elements stay, unless a later search reduces them.
struct JudgeCount {
  THINPIPE_KERNEL void operator()(const Job& job, std::uint32_t count) const {
    const bool too_few = std::uint64_t{10} * count < std::uint64_t{8} * job.target;
    const bool wait = too_few && job.may_lower && job.findings->threshold > 0;
    if (wait) job.findings->limit = static_cast<std::uint32_t>(kMaxKey);
    job.findings->ties = wait ? 0 : kAllTies;
  }
};

/// Multiplies the threshold by 0.8. Grid: one block per tensor.
struct LowerThreshold {
  static constexpr int kThreads = 32;
  struct Shared {};

  const Job* jobs;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    constexpr double kLower = 0.8;
    const Job job = jobs[block.index()];
    once(block, [&] { set_threshold(job, job.findings->threshold * kLower); });
  }
};

inline Sampling sampling_of(const std::string& name) {
  if (name == "lines") return Sampling::kLines;
  return name == "strided" ? Sampling::kStrided : Sampling::kUniform;
}

/// Selects by a sampled threshold. Lowering the threshold needs a round trip to the host.
template <class Device>
class DgcSelector : public SampledThresholdSelector<Device> {
 public:
  explicit DgcSelector(const MakerInput& input)
      : SampledThresholdSelector<Device>(input),
        sampling_(sampling_of(input.parameters.choice("sampling"))),
        lowered_(input.tensors.size(), 0) {}

  std::size_t max_selected(std::size_t elements) const override {
    return std::min(elements, 13 * this->max_target(elements) / 10);
  }
  void prepare(std::size_t tensor, const DeviceStep& step, Job& job) override {
    SampledThresholdSelector<Device>::prepare(tensor, step, job);
    job.choices = 2;
    job.may_lower = true;
    lowered_[tensor] = 0;
  }
  void launch(Device& device, const Batch& batch) override {
    this->find_threshold(device, batch, sampling_);
    choose<Reading::kSum>(device, batch);
  }
  bool note(std::size_t tensor, const Job& job, const Findings& findings) override {
    const std::uint64_t chosen = findings.counts[place_of(1)];
    return lowered_[tensor] == kMaxLowered || 10 * chosen >= std::uint64_t{8} * job.target ||
           !(findings.threshold > 0);
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
    choose_and_refine<reading, KeyOrder::kMagnitude, CrowdedKeys, JudgeCount>(device, batch);
  }

  Sampling sampling_;
  std::vector<int> lowered_;  ///< by tensor, how often in this step
};

// Sparse Binary Compression: selects the largest or the smallest elements (methods/selectors.h).

/// Decides between the largest elements, in Job::chosen of `jobs`, and the smallest elements, in
/// the same array of `others`. Replaces the largest by the smallest if the mean of the smallest is
/// farther from 0. An exact selection keeps nothing if either side is incomplete. Grid: the parts.
struct PickSide : OnParts {
  static constexpr int kThreads = 512;

  const Job* others;
  bool exact;

  THINPIPE_KERNEL void operator()(auto& block, Shared& /*shared*/) const {
    const Part tile = parts[block.index()];
    const Job job = jobs[tile.job];
    const Job other = others[tile.job];
    const std::uint32_t count = job.findings->counts[job.place];
    const std::uint32_t other_count = other.findings->counts[job.place];
    const bool complete = !exact || (count == job.target && other_count == job.target);
    // With a NaN on either side, the largest elements are kept.
    const double mean = count == 0 ? 0 : job.findings->mean;
    const double other_mean = other_count == 0 ? 0 : other.findings->mean;
    const bool swap = complete && -other_mean > mean;
    block.each([&](int t) {
      if (!swap) return;
      const Chosen to = job.chosen;
      const Chosen from = other.chosen;
      for (auto i = tile.index * kThreads + static_cast<std::uint32_t>(t); i < other_count;
           i += job.parts * kThreads) {
        to.positions[i] = from.positions[i];
        to.values[i] = from.values[i];
      }
    });
    if (!block.is_last(&job.findings->arrived, job.parts)) return;
    once(block, [&] {
      Findings& findings = *job.findings;
      if (swap) findings.threshold = other.findings->threshold;
      findings.counts[job.place] = !complete ? 0 : swap ? other_count : count;
      if (findings.counts[job.place] == 0) findings.threshold = 0;
    });
  }
};

/// Selects the largest elements and the smallest (most negative) elements, each like top-k, the
/// smallest into separate arrays. Then keeps the side with the greater mean magnitude.
template <class Device>
class SbcSelector : public RatioSelector<Device> {
 public:
  explicit SbcSelector(const MakerInput& input)
      : RatioSelector<Device>(input, "p"), sample_(input.parameters.real("sample")) {}

  std::size_t max_selected(std::size_t elements) const override {
    return sample_ == 0 ? this->max_target(elements) : elements;
  }
  std::size_t max_sampled(std::size_t elements) const override {
    return sample_ == 0 ? 0 : target_count(sample_, elements);
  }
  void allocate(Device& device, std::size_t tensor, Job& job) override {
    if (device_others_ == nullptr) {
      device_others_ = device_array<Job>(device, this->seeds_.size());
      // At a fixed address: steps are captured as graphs (DeviceBase::repeat).
      others_ = host_array<Job>(device, this->seeds_.size());
    }
    Job& other = others_[tensor];
    allocate_chosen(device, job.n, other);
    other.part_counts = device_array<Counts>(device, tiles_of(job.n, kTile) + 1);
    other.block_sums = device_array<double>(device, kSumDoubles * tiles_of(job.n, kSumTile));
    other.histogram = device_array<std::uint32_t>(device, kBins);
    other.findings = device_array<Findings>(device, 1);
    if (const std::size_t most = max_sampled(job.n); most > 0)
      other.sample = device_array<std::uint32_t>(device, most);
  }
  void prepare(std::size_t tensor, const DeviceStep& step, Job& job) override {
    RatioSelector<Device>::prepare(tensor, step, job);
    if (sample_ == 0) {
      job.choices = 2;
      sample_for_top_k(step, job);
    } else {
      plan_sample(sample_, this->ratio_.at(step.epoch), this->random_seed(tensor, step), job);
    }
    others_[tensor] = beside(job, others_[tensor]);
  }
  void launch(Device& device, const Batch& batch) override {
    device.upload(device_others_, others_.data(), others_.size() * sizeof(Job));
    const Batch other = of_others(batch);
    if (sample_ == 0) return choose_exactly<Reading::kSum>(device, batch, other);
    batch.launch_tiles<GatherSample<kFirst>>(device, batch.jobs, Sampling::kUniform);
    batch.launch_tiles<GatherSample<kOther>>(device, other.jobs, Sampling::kUniform);
    choose_above<Reading::kSum, kFirst>(device, batch);
    choose_above<Reading::kAsIs, kOther>(device, other);
    pick(device, batch);
  }
  /// Returns false if the sample of either side misled the selection.
  bool note(std::size_t /*tensor*/, const Job& job, const Findings& findings) override {
    return sample_ > 0 || findings.counts[job.place] == job.target;
  }
  void retry(std::size_t tensor, Job& job) override {
    job.sample_rank = 0;
    again_.push_back(beside(job, others_[tensor]));
  }
  void launch_again(Device& device, const Batch& batch) override {
    device.upload(device_others_, again_.data(), again_.size() * sizeof(Job));
    again_.clear();
    choose_exactly<Reading::kAsIs>(device, batch, of_others(batch));
  }

 private:
  static constexpr KeyOrder kFirst = KeyOrder::kLargest;
  static constexpr KeyOrder kOther = KeyOrder::kSmallest;

  /// Returns the job with the arrays of `own`.
  static Job beside(const Job& job, const Job& own) {
    Job other = job;
    other.chosen = own.chosen;
    other.staged = own.staged;
    other.part_counts = own.part_counts;
    other.block_sums = own.block_sums;
    other.histogram = own.histogram;
    other.findings = own.findings;
    other.sample = own.sample;
    other.place = place_of(job.choices);
    return other;
  }
  Batch of_others(Batch batch) const {
    batch.jobs = device_others_;
    return batch;
  }

  template <Reading reading>
  void choose_exactly(Device& device, const Batch& batch, const Batch& other) const {
    device.launch(SampleLimit<kFirst>{batch.jobs, batch.jobs}, batch.tensors);
    device.launch(SampleLimit<kOther>{batch.jobs, other.jobs}, other.tensors);
    choose_and_refine<reading, kFirst>(device, batch);
    choose_and_refine<Reading::kAsIs, kOther>(device, other);
    pick(device, batch);
  }
  template <Reading reading, KeyOrder order>
  static void choose_above(Device& device, const Batch& batch) {
    find_kth<SampledRanks<order>>(device, batch);
    choose_elements<reading, Reaching<order>>(device, batch, 1);
  }
  void pick(Device& device, const Batch& batch) const {
    for (const Batch& side : {batch, of_others(batch)})
      side.launch_sum_tiles<MeasureValues<SideMean>>(device);
    batch.launch_parts<PickSide>(device, device_others_, sample_ == 0);
  }

  double sample_;  ///< fraction of the elements to sample; 0: exact selection
  std::span<Job> others_;
  std::vector<Job> again_;  ///< of the tensors that are selected again
  Job* device_others_ = nullptr;
};

}  // namespace thinpipe::cuda
