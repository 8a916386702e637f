// Exact top-k: a sample estimates the k-th key, one pass selects the candidates, and the k-th key
// is searched among them digit by digit.
#pragma once

#include <algorithm>
#include <cmath>

#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/kth.h"
#include "compressors/cuda/kernels/sample.h"
#include "compressors/cuda/select/device_selector.h"

namespace thinpipe::cuda {

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
class TopKSelector : public DeviceSelector<Device> {
 public:
  explicit TopKSelector(RatioSchedule ratio) : ratio_(std::move(ratio)) {}

  std::size_t max_selected(std::size_t elements) const override {
    return target_count(ratio_.greatest(), elements);
  }
  void prepare(std::size_t /*tensor*/, const DeviceStep& step, Job& job) override {
    job.target = count_of(ratio_.at(step.epoch), job);
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
    choose_elements<reading, Reaching<>>(device, batch, 1);
    find_kth<ChosenKeys<>>(device, batch);
    choose_elements<Reading::kChosen, ReachingWithTies<>>(device, batch, 2);
  }

  RatioSchedule ratio_;
};

}  // namespace thinpipe::cuda
