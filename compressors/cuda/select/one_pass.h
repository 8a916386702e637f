// Selectors of one pass: by a threshold, by chunks, at random, and by the variance.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "compressors/cuda/encode/device_positions.h"
#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/choose_of_chunks.h"
#include "compressors/cuda/kernels/draw.h"
#include "compressors/cuda/kernels/rules.h"
#include "compressors/cuda/select/device_selector.h"
#include "compressors/kernels/keys.h"
#include "compressors/methods/selectors.h"
#include "compressors/wire/bytes.h"

namespace thinpipe::cuda {

/// @tparam Rule  Reaching: sends elements that exceed tau; Stepping: sends tau with their sign
/// (Strom)
template <class Device, class Rule = Reaching<>>
class ThresholdSelector : public DeviceSelector<Device> {
 public:
  explicit ThresholdSelector(double tau) : tau_(tau) {}

  Findings initial() const override {
    return {.limit = static_cast<std::uint32_t>(key_above(tau_)), .threshold = tau_};
  }
  void prepare(std::size_t /*tensor*/, const DeviceStep& /*step*/, Job& job) override {
    job.factor = tau_;
  }
  void launch(Device& device, const Batch& batch) override {
    choose_elements<Reading::kSum, Rule>(device, batch, 1);
  }

 private:
  double tau_;
};

template <class Device>
class ChunkedSelector : public DeviceSelector<Device> {
 public:
  explicit ChunkedSelector(const Chunks& chunks) : chunks_(chunks) {}

  std::size_t max_selected(std::size_t elements) const override {
    return chunks_.selected(elements);
  }
  void allocate(Device& /*device*/, std::size_t /*tensor*/, Job& job) override {
    job.chunks = layout_of(chunks_, job.n);
  }
  void prepare(std::size_t /*tensor*/, const DeviceStep& /*step*/, Job& job) override {
    job.target = job.chunks.selected();
  }
  void launch(Device& device, const Batch& batch) override {
    batch.launch_tiles<ChooseOfChunks<Reading::kSum>>(device);
  }

 private:
  Chunks chunks_;
};

template <class Device>
class RandomKSelector : public DeviceSelector<Device> {
 public:
  /// @param seeds  by tensor
  RandomKSelector(RatioSchedule ratio, bool unbiased, std::vector<std::uint64_t> seeds)
      : ratio_(std::move(ratio)), unbiased_(unbiased), seeds_(std::move(seeds)) {}

  std::size_t max_selected(std::size_t elements) const override {
    return target_count(ratio_.greatest(), elements);
  }
  Findings initial() const override {
    return {.threshold = std::numeric_limits<double>::quiet_NaN()};
  }
  void allocate(Device& device, std::size_t tensor, Job& job) override {
    job.drawn = device_array<std::uint32_t>(device, (std::size_t{job.n} + 31) / 32);
    job.sample_seed = seeds_[tensor];
  }
  void prepare(std::size_t /*tensor*/, const DeviceStep& step, Job& job) override {
    job.target = count_of(ratio_.at(step.epoch), job);
    job.tag = static_cast<std::uint32_t>(step.step);
    const bool scaled = unbiased_ && job.target > 0;
    job.factor = scaled ? static_cast<double>(job.n) / job.target : 1;
  }
  void launch(Device& device, const Batch& batch) override {
    device.launch(DrawForStep{batch.jobs}, batch.tensors);
    choose_elements<Reading::kSum, Drawn>(device, batch, 1);
  }

 private:
  RatioSchedule ratio_;
  bool unbiased_;
  std::vector<std::uint64_t> seeds_;
};

template <class Device>
class VarianceSelector : public DeviceSelector<Device> {
 public:
  /// @param tau      of the hybrid; 0: values are sent
  /// @param tensors  their names, for error messages
  VarianceSelector(float tau, VarianceOptions options, std::vector<std::string> tensors)
      : tau_(tau),
        options_(std::move(options)),
        tensors_(std::move(tensors)),
        variances_(tensors_.size()) {}

  Findings initial() const override {
    if (tau_ <= 0) return {.threshold = std::numeric_limits<double>::quiet_NaN()};
    const auto tau = static_cast<double>(tau_);
    return {.limit = static_cast<std::uint32_t>(key_above(tau)), .threshold = tau};
  }
  void allocate(Device& device, std::size_t tensor, Job& job) override {
    device_ = &device;
    job.v = device_array<float>(device, job.n);
    if (tau_ > 0) job.corrected = device_array<float>(device, job.n);
    job.alpha = options_.alpha;
    job.zeta = options_.zeta;
    job.factor = static_cast<double>(tau_);
    variances_[tensor] = {job.v, job.n};
  }
  void prepare(std::size_t tensor, const DeviceStep& step, Job& job) override {
    if (step.device_squares.size() != tensors_.size()) {
      throw InputError("tensor '" + tensors_[tensor] + "': second moments of " +
                       std::to_string(step.device_squares.size()) + " tensors; expected " +
                       std::to_string(tensors_.size()) +
                       ", for this method needs one for each element");
    }
    job.q = step.device_squares[tensor];
  }
  void launch(Device& device, const Batch& batch) override {
    choose_elements<Reading::kSum, Unambiguous>(device, batch, 1);
  }

  void reset() override {
    for (const Variances& variances : variances_)
      device_->zero(variances.device_v, variances.n * sizeof(float));
  }
  std::size_t state_size(std::size_t tensor) const override {
    return variances_[tensor].n * sizeof(float);
  }
  void save(std::size_t tensor, ByteWriter& out) const override {
    std::vector<float> floats(variances_[tensor].n);
    device_->download(floats.data(), variances_[tensor].device_v, floats.size() * sizeof(float));
    device_->wait();
    save_floats(out, floats);
  }
  void load(std::size_t tensor, ByteReader& in) override {
    std::vector<float> floats(variances_[tensor].n);
    load_floats(in, floats, "variances");
    device_->upload(variances_[tensor].device_v, floats.data(), floats.size() * sizeof(float));
    device_->wait();
  }

 private:
  struct Variances {
    float* device_v = nullptr;
    std::size_t n = 0;
  };

  float tau_;
  VarianceOptions options_;
  std::vector<std::string> tensors_;
  std::vector<Variances> variances_;
  Device* device_ = nullptr;
};

}  // namespace thinpipe::cuda
