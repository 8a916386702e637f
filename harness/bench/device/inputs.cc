#include "harness/bench/device/inputs.h"

#include <algorithm>
#include <utility>

namespace thinpipe {
namespace {

// Twice the cache: what comes again is then gone, whatever the replacement does.
std::size_t inputs_needed(std::size_t cache, std::size_t elements) {
  const std::size_t bytes = std::max<std::size_t>(elements, 1) * sizeof(float);
  return std::max<std::size_t>(1, (2 * cache + bytes - 1) / bytes);
}

}  // namespace

DeviceInputs::DeviceInputs(const TimedDevice& device, TensorInfo tensor,
                           std::span<const float> values, Residency residency)
    : tensor_(std::move(tensor)), values_(values), residency_(residency) {
  const std::size_t count =
      residency == Residency::kCache ? 1 : inputs_needed(device.description.l2_bytes, elements());
  const std::size_t bytes = elements() * sizeof(float);
  gradients_.assign(count, nullptr);
  std::vector<float> turned(elements());
  for (std::size_t i = 0; i < count; ++i) {
    gradients_[i] = static_cast<float*>(device.memory->allocate(bytes));
    outputs_.push_back(static_cast<float*>(device.memory->allocate(bytes)));
    this->values(i, turned);
    device.memory->upload(gradients_[i], turned.data(), bytes);
    device.memory->wait();
  }
}

void DeviceInputs::values(std::size_t step, std::span<float> out) const {
  if (values_.empty()) return;
  // Steps of the golden section spread the beginnings evenly, whatever their number.
  const auto turn = static_cast<std::size_t>(0.6180339887 * static_cast<double>(elements()));
  const std::size_t begin = step % rotation() * turn % elements();
  std::rotate_copy(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(begin),
                   values_.end(), out.begin());
}

}  // namespace thinpipe
