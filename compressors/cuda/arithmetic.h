// DeviceArithmetic by thinpipe's own kernels.
#pragma once

#include <memory>
#include <utility>

#include "compressors/cuda/kernels/arrays.h"
#include "compressors/cuda/kernels/on_jobs.h"
#include "compressors/cuda/rank_device.h"

namespace thinpipe::cuda {

template <class Device>
class Arithmetic : public DeviceArithmetic {
 public:
  explicit Arithmetic(std::shared_ptr<Device> device)
      : device_(std::move(device)), copies_(device_) {}

  void add(float* device_to, const float* device_from, std::size_t elements) override {
    launch(AddElement{device_to, device_from}, elements);
  }
  void nesterov(const float* device_x, float* device_v, float* device_out, std::size_t elements,
                float momentum, float rate) override {
    launch(NesterovElement{device_x, device_v, device_out, momentum, rate}, elements);
  }
  void copy(std::span<const DeviceCopy> copies) override {
    if (has_copied_) device_->wait();
    has_copied_ = true;
    copies_.clear(copies.size());
    for (const DeviceCopy& one : copies)
      copies_.add({.to = static_cast<std::uint8_t*>(one.to),
                   .from = static_cast<const std::uint8_t*>(one.from),
                   .bytes = one.bytes},
                  CopyBytes::blocks_for(one.bytes));
    copies_.launch(CopyBytes{});
  }
  void put(float* device_to, const std::uint32_t* device_positions, const float* device_values,
           std::size_t count) override {
    launch(PutElement{device_to, device_positions, device_values}, count);
  }

 private:
  template <class Element>
  void launch(const Element& element, std::size_t n) {
    using Kernel = EachElement<Element>;
    device_->launch(Kernel{element, n}, Kernel::blocks_for(n));
  }

  std::shared_ptr<Device> device_;
  DeviceJobs<Device, CopyJob> copies_;
  bool has_copied_ = false;
};

}  // namespace thinpipe::cuda
