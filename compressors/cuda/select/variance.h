// Variance-based compression and the hybrid (select/variance.h).
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/kernels/unambiguous.h"
#include "compressors/cuda/select/device_selector.h"
#include "compressors/methods/selectors.h"
#include "compressors/wire/bytes.h"

namespace thinpipe::cuda {

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

  std::size_t max_selected(std::size_t elements) const override { return elements; }
  Findings initial() const override {
    Findings findings;
    const auto tau = static_cast<double>(tau_);
    findings.threshold = tau_ > 0 ? tau : std::numeric_limits<double>::quiet_NaN();
    findings.limit = tau_ > 0 ? static_cast<std::uint32_t>(key_above(tau)) : 0;
    return findings;
  }
  void allocate(Device& device, std::size_t tensor, Job& job) override {
    device_ = &device;
    const auto floats = [&] { return static_cast<float*>(device.allocate(job.n * sizeof(float))); };
    job.v = floats();
    if (tau_ > 0) job.corrected = floats();
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
