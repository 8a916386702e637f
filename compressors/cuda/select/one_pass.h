// Selectors of one pass: by a threshold, by chunks, at random, and by the variance.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "compressors/cuda/encode/device_positions.h"
#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/choose_of_chunks.h"
#include "compressors/cuda/kernels/sample.h"
#include "compressors/cuda/select/device_selector.h"
#include "compressors/kernels/keys.h"
#include "compressors/methods/selectors.h"

namespace thinpipe::cuda {

/// @tparam Rule  Reaching: sends elements that exceed tau; Stepping: sends tau with their sign
/// (Strom)
template <class Device, class Rule = Reaching<>>
class ThresholdSelector : public DeviceSelector<Device> {
 public:
  explicit ThresholdSelector(const MakerInput& input) : tau_(input.parameters.real("tau")) {
    // A step is a float.
    if (std::is_same_v<Rule, Stepping>) tau_ = static_cast<double>(static_cast<float>(tau_));
  }

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
  explicit ChunkedSelector(const MakerInput& input) : chunks_(chunks_of(input.parameters)) {}

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
class RandomKSelector : public RatioSelector<Device> {
 public:
  explicit RandomKSelector(const MakerInput& input)
      : RatioSelector<Device>(input), unbiased_(input.parameters.flag("scale")) {}

  std::size_t max_selected(std::size_t elements) const override {
    return this->max_target(elements);
  }
  Findings initial() const override {
    return {.threshold = std::numeric_limits<double>::quiet_NaN()};
  }
  void allocate(Device& device, std::size_t tensor, Job& job) override {
    job.drawn = device_array<std::uint32_t>(device, (std::size_t{job.n} + 31) / 32);
    job.sample_seed = this->seeds_[tensor];
  }
  void prepare(std::size_t tensor, const DeviceStep& step, Job& job) override {
    RatioSelector<Device>::prepare(tensor, step, job);
    job.tag = static_cast<std::uint32_t>(step.step);
    const bool scaled = unbiased_ && job.target > 0;
    job.factor = scaled ? static_cast<double>(job.n) / job.target : 1;
  }
  void launch(Device& device, const Batch& batch) override {
    device.launch(DrawForStep{batch.jobs}, batch.tensors);
    choose_elements<Reading::kSum, Drawn>(device, batch, 1);
  }

 private:
  bool unbiased_;  ///< values are multiplied by d / k
};

/// @tparam steps  the hybrid method, which sends steps of tau instead of the values
template <class Device, bool steps>
class VarianceSelector : public DeviceSelector<Device> {
 public:
  explicit VarianceSelector(const MakerInput& input)
      : tau_(steps ? static_cast<float>(input.parameters.real("tau")) : 0),
        options_(variance_options(input.parameters)),
        tensors_(input.by_tensor([](const TensorInfo& one) { return one.name; })),
        variances_(tensors_.size()) {}

  Findings initial() const override {
    if (!steps) return {.threshold = std::numeric_limits<double>::quiet_NaN()};
    const auto tau = static_cast<double>(tau_);
    return {.limit = static_cast<std::uint32_t>(key_above(tau)), .threshold = tau};
  }
  void allocate(Device& device, std::size_t tensor, Job& job) override {
    job.v = device_array<float>(device, job.n);
    if (steps) job.corrected = device_array<float>(device, job.n);
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

  void reset(Device& device) override {
    for (const std::span<float> variances : variances_)
      device.zero(variances.data(), variances.size_bytes());
  }
  std::size_t state_size(std::size_t tensor) const override {
    return variances_[tensor].size_bytes();
  }
  void save(Device& device, std::size_t tensor, ByteWriter& out) const override {
    save_device_floats(device, variances_[tensor].data(), variances_[tensor].size(), out);
  }
  void load(Device& device, std::size_t tensor, ByteReader& in) override {
    load_device_floats(device, variances_[tensor].data(), variances_[tensor].size(), in,
                       "variances");
  }

 private:
  float tau_;
  VarianceOptions options_;
  std::vector<std::string> tensors_;         ///< names, for error messages
  std::vector<std::span<float>> variances_;  ///< by tensor, Job::v
};

}  // namespace thinpipe::cuda
