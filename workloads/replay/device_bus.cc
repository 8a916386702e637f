#include "workloads/replay/device_bus.h"

#include <cstring>

namespace thinpipe {

bool DeviceBus::ended(BusCopy& copy) {
  if (!copy.taken) {
    if (!copies_->ended(copy.number)) return false;
    if (!slow()) return true;
    end(copy);
  }
  return now_seconds() >= copy.due;
}

void DeviceBus::end(BusCopy& copy) {
  copy.taken = true;
  copy.seconds = copies_->take(copy.number);
  free_ = copy.due = std::max(copy.begun, free_) + factor_ * copy.seconds;
}

DeviceUpload::DeviceUpload(const RankDevice& device)
    : device_(device),
      pinned_(device.memory, DeviceBuffer::Where::kPinned),
      on_device_(device.memory, DeviceBuffer::Where::kDevice) {}

void DeviceUpload::clear() {
  parts_.clear();
  payloads_.clear();
  places_.clear();
  bytes_ = 0;
  under_way_ = false;
}

void DeviceUpload::add(std::span<const std::byte> payload) {
  places_.push_back(bytes_);
  payloads_.emplace_back();
  append(payload);
}

void DeviceUpload::append(std::span<const std::byte> more) {
  parts_.push_back({more, places_.back() + payloads_.back().bytes});
  payloads_.back().bytes += more.size();
  bytes_ = places_.back() + decode_bytes(payloads_.back().bytes);
}

void DeviceUpload::begin() {
  pinned_.grow(bytes_);
  on_device_.grow(bytes_);
  for (const Part& part : parts_)
    if (!part.bytes.empty())
      std::memcpy(pinned_.data() + part.at, part.bytes.data(), part.bytes.size());
  for (std::size_t i = 0; i < payloads_.size(); ++i)
    payloads_[i].data = on_device_.data() + places_[i];
  copy_ =
      DeviceBus::begun(device_.copies->begin_upload({on_device_.data(), pinned_.data(), bytes_}));
  under_way_ = true;
}

std::span<const DevicePayload> DeviceUpload::payloads(DeviceBus& bus) {
  if (!under_way_) begin();
  bus.join(copy_);
  return payloads_;
}

}  // namespace thinpipe
