// Sparse Binary Compression: selects the largest or the smallest elements (select/sbc.h).
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "compressors/cuda/encode/measure_values.h"
#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/job.h"
#include "compressors/cuda/kernels/kth.h"
#include "compressors/cuda/kernels/sample.h"
#include "compressors/cuda/select/device_selector.h"
#include "compressors/cuda/select/sampled.h"
#include "compressors/cuda/select/top_k.h"

namespace thinpipe::cuda {

/// Decides between the largest elements, in Job::chosen of `jobs`, and the smallest elements, in
/// the same array of `others`. Replaces the largest by the smallest if the mean of the smallest is
/// farther from 0. An exact selection keeps nothing if either side is incomplete. Grid: the parts.
struct PickSide : OnParts {
  static constexpr int kThreads = 512;

  const Job* others;
  bool exact;

  template <class Block>
  THINPIPE_KERNEL void operator()(Block& block, Shared& /*shared*/) const {
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
class SbcSelector : public DeviceSelector<Device> {
 public:
  /// @param sample  fraction of the elements to sample; 0: exact selection
  SbcSelector(RatioSchedule ratio, double sample, std::vector<std::uint64_t> seeds)
      : ratio_(std::move(ratio)), sample_(sample), seeds_(std::move(seeds)) {}

  std::size_t max_selected(std::size_t elements) const override {
    return sample_ == 0 ? target_count(ratio_.greatest(), elements) : elements;
  }
  std::size_t max_sampled(std::size_t elements) const override {
    return sample_ == 0 ? 0 : target_count(sample_, elements);
  }
  void allocate(Device& device, std::size_t tensor, Job& job) override {
    if (device_others_ == nullptr) {
      device_others_ = device_array<Job>(device, seeds_.size());
      // At a fixed address: steps are captured as graphs (DeviceBase::repeat).
      others_ = host_array<Job>(device, seeds_.size());
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
    const double ratio = ratio_.at(step.epoch);
    job.target = count_of(ratio, job);
    if (sample_ == 0) {
      job.choices = 2;
      sample_for_top_k(step, job);
    } else {
      plan_sample(sample_, ratio, seed_of(seeds_[tensor], step), job);
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
    choose<reading, kFirst>(device, batch);
    choose<Reading::kAsIs, kOther>(device, other);
    pick(device, batch);
  }
  template <Reading reading, KeyOrder order>
  static void choose(Device& device, const Batch& batch) {
    choose_elements<reading, Reaching<order>>(device, batch, 1);
    find_kth<ChosenKeys<order>>(device, batch);
    choose_elements<Reading::kChosen, ReachingWithTies<order>>(device, batch, 2);
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

  RatioSchedule ratio_;
  double sample_;
  std::vector<std::uint64_t> seeds_;
  std::span<Job> others_;
  std::vector<Job> again_;  ///< of the tensors that are selected again
  Job* device_others_ = nullptr;
};

}  // namespace thinpipe::cuda
