// A dense method on the GPU: memory and quantiser.
#pragma once

#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "compressors/cuda/device_base.h"
#include "compressors/cuda/quantize/device_quantizer.h"

namespace thinpipe::cuda {

template <class Device>
class DenseDeviceCompressor : public DeviceBase<Device> {
 public:
  DenseDeviceCompressor(std::shared_ptr<Device> device, std::vector<StateIdentity> identities,
                        const DeviceMemoryOptions& memory,
                        std::unique_ptr<DeviceQuantizer<Device>> quantizer)
      : DeviceBase<Device>(std::move(device), std::move(identities), memory, *quantizer),
        quantizer_(std::move(quantizer)) {
    this->allocate(
        [&](std::size_t i, Job& job) {
          const std::size_t bytes = max_encoded_size(i);
          job.payload = device_array<std::uint32_t>(*device_, bytes / 4 + 2);
          if (quantizer_->packs()) job.packed = device_array<std::uint8_t>(*device_, bytes + 4);
          quantizer_->open(*device_, i, job);
        },
        quantizer_->tile());
    DeviceBase<Device>::reset();
  }

  std::size_t max_encoded_size(std::size_t tensor) const override {
    return quantizer_->max_encoded_size(tensor, identities_[tensor].elements);
  }

  void encode(std::span<const float* const> device_gradients, const DeviceStep& step) override {
    ready(device_gradients, step);
    this->repeat([this] {
      this->send_jobs();
      quantizer_->launch(*device_, this->batch_);
      this->download_findings();
    });
  }

  std::span<const EncodeReport> finish() override {
    device_->wait();
    this->set_summed(false);  // for the next step; the device has read the jobs
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      const Findings& findings = findings_[i];
      this->reports_[i] = {.encoded_bytes = findings.encoded,
                           .target_elements = 0,
                           .selected_elements = findings.counts[1],
                           .threshold = std::numeric_limits<double>::quiet_NaN(),
                           .passes = 0};
    }
    return this->reports_;
  }

 protected:
  std::string unfit(std::size_t tensor, std::size_t bytes) const override {
    const std::size_t elements = identities_[tensor].elements;
    if (quantizer_->fits(tensor, bytes, elements)) return "";
    return "payload is " + std::to_string(bytes) + " bytes long; a tensor of " +
           std::to_string(elements) + " elements takes up to " +
           std::to_string(max_encoded_size(tensor));
  }
  void plan_decode(DecodeJob& job, DecodePlan& plan) override {
    job.signs = jobs_[job.tensor].signs;
    quantizer_->plan_decode(*device_, job, plan);
  }
  void launch_decodes(const DecodeBatch& batch) override { quantizer_->decode(*device_, batch); }
  std::string problem_of(std::uint32_t number, std::size_t /*tensor*/,
                         std::size_t /*bytes*/) const override {
    return quantizer_->problem(number);
  }

  using DeviceBase<Device>::device_;
  using DeviceBase<Device>::findings_;
  using DeviceBase<Device>::identities_;
  using DeviceBase<Device>::jobs_;

  void ready(std::span<const float* const> device_gradients, const DeviceStep& step) {
    this->check_gradients(device_gradients.size());
    for (std::size_t i = 0; i < jobs_.size(); ++i) {
      jobs_[i].g = device_gradients[i];
      jobs_[i].shared_scale = step.shared_scales.empty() ? 0 : step.shared_scales[i];
      quantizer_->prepare(i, step, jobs_[i]);
    }
    this->ready_sums(false);
  }

  std::unique_ptr<DeviceQuantizer<Device>> quantizer_;
};

/// A dense method whose workers may share their scales.
template <class Device>
class SharedScaleDeviceCompressor : public DenseDeviceCompressor<Device>, public DeviceSharedScale {
 public:
  using DenseDeviceCompressor<Device>::DenseDeviceCompressor;

  std::span<const float> prepare(std::span<const float* const> device_gradients) override {
    this->check_gradients(device_gradients.size());
    this->set_summed(false);
    for (std::size_t i = 0; i < this->jobs_.size(); ++i) this->jobs_[i].g = device_gradients[i];
    this->upload_jobs();
    this->quantizer_->launch_scales(*this->device_, this->batch_);
    this->download_findings();
    this->device_->wait();
    this->set_summed(true);
    scales_.clear();
    for (const Findings& findings : this->findings_) scales_.push_back(findings.scale);
    return scales_;
  }

 private:
  std::vector<float> scales_;  ///< returned by prepare()
};

/// A dense method that takes several all-reduces in a step.
template <class Device>
class MultiRoundDeviceCompressor : public DenseDeviceCompressor<Device>, public DeviceMultiRound {
 public:
  using DenseDeviceCompressor<Device>::DenseDeviceCompressor;

  int rounds() const override { return this->quantizer_->rounds(); }
  void first_round(std::span<const float* const> device_gradients,
                   const DeviceStep& step) override {
    this->ready(device_gradients, step);
    round_ = 1;
    launch_round();
  }
  void next_round(std::span<const float* const> device_means) override {
    if (round_ == 0) throw std::logic_error("next_round() without a round before it");
    this->check_gradients(device_means.size());
    for (std::size_t i = 0; i < this->jobs_.size(); ++i) this->jobs_[i].mean = device_means[i];
    this->set_summed(true);
    ++round_;
    launch_round();
    if (round_ > rounds()) round_ = 0;
  }
  void own_payload(std::size_t tensor, std::span<std::byte> payload) override {
    ByteWriter out(payload);
    this->quantizer_->own_payload(*this->device_, tensor, out);
  }

  void reset() override {
    DenseDeviceCompressor<Device>::reset();
    round_ = 0;
  }
  void load_state(std::size_t tensor, std::span<const std::byte> state) override {
    DenseDeviceCompressor<Device>::load_state(tensor, state);
    round_ = 0;
  }

 private:
  void launch_round() {
    this->repeat(
        [this] {
          this->send_jobs();
          this->quantizer_->launch_round(*this->device_, this->batch_, round_);
          this->download_findings();
        },
        round_);
  }

  int round_ = 0;  ///< launched last; 0: none is pending
};

/// Makes the compressor of a dense method, of the type that has its abilities.
template <class Device>
std::unique_ptr<DeviceCompressor> make_dense_device_compressor(
    std::shared_ptr<Device> device, std::vector<StateIdentity> identities,
    const DeviceMemoryOptions& memory, std::unique_ptr<DeviceQuantizer<Device>> quantizer) {
  const auto make = [&]<class Compressor>(std::type_identity<Compressor>) {
    return std::make_unique<Compressor>(std::move(device), std::move(identities), memory,
                                        std::move(quantizer));
  };
  if (quantizer->shares_scale())
    return make(std::type_identity<SharedScaleDeviceCompressor<Device>>{});
  if (quantizer->rounds() > 1)
    return make(std::type_identity<MultiRoundDeviceCompressor<Device>>{});
  return make(std::type_identity<DenseDeviceCompressor<Device>>{});
}

}  // namespace thinpipe::cuda
