// Selects by a fixed threshold, in one pass.
#pragma once

#include "compressors/cuda/kernels/choose.h"
#include "compressors/cuda/select/device_selector.h"
#include "compressors/kernels/keys.h"

namespace thinpipe::cuda {

/// @tparam Rule  Reaching: sends elements that exceed tau; Stepping: sends tau with their sign
/// (Strom)
template <class Device, class Rule = Reaching<>>
class ThresholdSelector : public DeviceSelector<Device> {
 public:
  explicit ThresholdSelector(double tau) : tau_(tau) {}

  std::size_t max_selected(std::size_t elements) const override { return elements; }
  Findings initial() const override {
    Findings findings;
    findings.threshold = tau_;
    findings.limit = static_cast<std::uint32_t>(key_above(tau_));
    return findings;
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

}  // namespace thinpipe::cuda
