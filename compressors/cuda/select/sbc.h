// Sparse Binary Compression: selects the largest or the smallest elements (select/sbc.h).
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "compressors/cuda/encode/measure_values.h"
#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/gather.h"
#include "compressors/cuda/kernels/kth.h"
#include "compressors/cuda/kernels/pick_side.h"
#include "compressors/cuda/select/device_selector.h"
#include "compressors/cuda/select/top_k.h"
#include "compressors/select/selector.h"

namespace thinpipe::cuda {

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
    const auto array = [&]<class T>(T*& to, std::size_t count) {
      to = static_cast<T*>(device.allocate(count * sizeof(T)));
    };
    if (device_others_ == nullptr) {
      const std::size_t tensors = seeds_.size();
      array(device_others_, tensors);
      // At a fixed address: steps are captured as graphs (DeviceBase::repeat).
      others_ = {static_cast<Job*>(device.allocate_host(tensors * sizeof(Job))), tensors};
      std::uninitialized_value_construct_n(others_.data(), tensors);
    }
    Job& other = others_[tensor];
    for (Chosen* const chosen : {&other.chosen, &other.staged}) {
      array(chosen->positions, job.n);
      array(chosen->values, job.n);
    }
    array(other.part_counts, tiles_of(job.n, kTile) + 1);
    array(other.block_sums, kSumDoubles * tiles_of(job.n, kSumTile));
    array(other.histogram, kBins);
    array(other.findings, 1);
    if (const std::size_t most = max_sampled(job.n); most > 0) array(other.sample, most);
  }
  void prepare(std::size_t tensor, const DeviceStep& step, Job& job) override {
    const double ratio = ratio_.at(step.epoch);
    const auto count = [&](double fraction) {
      return static_cast<std::uint32_t>(target_count(fraction, job.n));
    };
    job.target = count(ratio);
    if (sample_ == 0) {
      job.choices = 2;
      sample_for_top_k(step, job);
    } else {
      job.sampled = count(sample_);
      job.sample_rank = std::min(job.sampled, count(sample_ * ratio));
      job.sample_seed = SplitMix64::mix(seeds_[tensor] ^ SplitMix64::mix(step.step));
    }
    others_[tensor] = beside(job, others_[tensor]);
  }
  void launch(Device& device, const Batch& batch) override {
    device.upload(device_others_, others_.data(), others_.size() * sizeof(Job));
    const Batch other = of_others(batch);
    if (sample_ == 0) {
      device.launch(SampleLimit<kFirst>{batch.jobs, batch.jobs}, batch.tensors);
      device.launch(SampleLimit<kOther>{batch.jobs, other.jobs}, other.tensors);
      choose<Reading::kSum, kFirst>(device, batch);
      choose<Reading::kAsIs, kOther>(device, other);
    } else {
      device.launch(GatherSample<kFirst>{batch.jobs, batch.jobs, batch.tiles, Sampling::kUniform},
                    batch.tile_count);
      device.launch(GatherSample<kOther>{batch.jobs, other.jobs, batch.tiles, Sampling::kUniform},
                    other.tile_count);
      choose_above<Reading::kSum, kFirst>(device, batch);
      choose_above<Reading::kAsIs, kOther>(device, other);
    }
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
    const Batch other = of_others(batch);
    device.launch(SampleLimit<kFirst>{batch.jobs, batch.jobs}, batch.tensors);
    device.launch(SampleLimit<kOther>{batch.jobs, other.jobs}, other.tensors);
    choose<Reading::kAsIs, kFirst>(device, batch);
    choose<Reading::kAsIs, kOther>(device, other);
    pick(device, batch);
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
    for (const Job* jobs : {batch.jobs, static_cast<const Job*>(device_others_)})
      device.launch(MeasureValues<SideMean>{jobs, batch.sum_tiles}, batch.sum_tile_count);
    device.launch(PickSide{batch.jobs, device_others_, batch.parts, sample_ == 0},
                  batch.part_count);
  }

  RatioSchedule ratio_;
  double sample_;
  std::vector<std::uint64_t> seeds_;
  std::span<Job> others_;
  std::vector<Job> again_;  ///< of the tensors that are selected again
  Job* device_others_ = nullptr;
};

}  // namespace thinpipe::cuda
