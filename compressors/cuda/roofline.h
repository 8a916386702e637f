// DeviceRoofline by thinpipe's own kernels.
#pragma once

#include <memory>
#include <stdexcept>
#include <utility>

#include "compressors/cuda/device/device_roofline.h"
#include "compressors/cuda/kernels/read_sum.h"

namespace thinpipe::cuda {

template <class Device>
class Roofline : public DeviceRoofline {
 public:
  explicit Roofline(std::shared_ptr<Device> device)
      : device_(std::move(device)),
        sum_(static_cast<std::uint32_t*>(device_->allocate(sizeof(std::uint32_t)))) {}

  void read(const float* device_x, std::size_t elements, int streams) override {
    switch (streams) {
      case 1:
        return launch<1>(device_x, elements);
      case 2:
        return launch<2>(device_x, elements);
      case 4:
        return launch<4>(device_x, elements);
      case 8:
        return launch<8>(device_x, elements);
      default:
        throw std::invalid_argument("no such number of streams");
    }
  }
  std::uint32_t take_sum() override {
    std::uint32_t sum = 0;
    device_->download(&sum, sum_, sizeof sum);
    device_->zero(sum_, sizeof sum);
    device_->wait();
    return sum;
  }
  void copy(const float* device_from, std::size_t elements, float* device_to) override {
    device_->copy(device_to, device_from, elements * sizeof(float));
  }

 private:
  template <int kStreams>
  void launch(const float* device_x, std::size_t elements) {
    const auto n = static_cast<std::uint32_t>(elements);
    device_->launch(ReadSum<kStreams>{device_x, n, sum_}, ReadSum<kStreams>::blocks(n));
  }

  std::shared_ptr<Device> device_;
  std::uint32_t* sum_;
};

}  // namespace thinpipe::cuda
