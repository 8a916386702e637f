#include "workloads/replay/device_result.h"

namespace thinpipe {

DeviceResult::DeviceResult(const RankDevice& device, std::size_t elements,
                           const std::optional<OuterOptions>& outer)
    : device_(device), elements_(elements), outer_(outer) {
  const auto array = [&] {
    return static_cast<float*>(device_.memory->allocate(elements * sizeof(float)));
  };
  aggregate_ = array();
  if (outer_) {
    update_ = array();
    velocity_ = array();
  }
  device_.memory->wait();
}

void DeviceResult::apply_outer() {
  device_.arithmetic->nesterov(aggregate_, velocity_, update_, elements_, outer_->momentum,
                               outer_->learning_rate);
  device_.memory->wait();
}

void DeviceResult::fetch(std::span<float> aggregate, std::span<float> update,
                         std::span<float> velocity) {
  device_.memory->download(aggregate.data(), aggregate_, aggregate.size_bytes());
  if (outer_) {
    device_.memory->download(update.data(), update_, update.size_bytes());
    device_.memory->download(velocity.data(), velocity_, velocity.size_bytes());
  }
  device_.memory->wait();
}

void DeviceResult::set_velocity(std::span<const float> velocity) {
  device_.memory->upload(velocity_, velocity.data(), velocity.size_bytes());
  device_.memory->wait();
}

}  // namespace thinpipe
