#include "workloads/replay/device_upload.h"

#include <algorithm>
#include <cstring>

namespace thinpipe {

DeviceUpload::DeviceUpload(const RankDevice& device)
    : device_(device),
      pinned_(device.memory, DeviceRoom::Where::kPinned),
      there_(device.memory, DeviceRoom::Where::kDevice) {}

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
  bytes_ = places_.back() + decode_room(payloads_.back().bytes);
}

bool DeviceUpload::has_room() const { return bytes_ <= std::min(pinned_.size(), there_.size()); }

void DeviceUpload::begin() {
  pinned_.grow(bytes_);
  there_.grow(bytes_);
  for (const Part& part : parts_)
    if (!part.bytes.empty())
      std::memcpy(pinned_.data() + part.at, part.bytes.data(), part.bytes.size());
  for (std::size_t i = 0; i < payloads_.size(); ++i) payloads_[i].data = there_.data() + places_[i];
  copy_ = DeviceBus::begun(device_.copies->begin_upload({there_.data(), pinned_.data(), bytes_}));
  under_way_ = true;
}

std::span<const DevicePayload> DeviceUpload::payloads(DeviceBus& bus) {
  if (!under_way_) begin();
  bus.join(copy_);
  return payloads_;
}

double DeviceUpload::finish(DeviceBus& bus) {
  const double seconds = under_way_ ? bus.take(copy_) : 0;
  under_way_ = false;
  return seconds;
}

}  // namespace thinpipe
