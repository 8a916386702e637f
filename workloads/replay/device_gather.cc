#include "workloads/replay/device_gather.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "workloads/replay/message.h"

namespace thinpipe {

namespace {

// Bytes after which what was copied may be sent: tens of microseconds of PCIe, which is what a copy
// costs to ask for and to wait for.
constexpr std::size_t kStretchBytes = std::size_t{1} << 18;

}  // namespace

DeviceGather::DeviceGather(const RankDevice& device, int rank, int ranks, double time_scale)
    : device_(device),
      rank_(rank),
      down_(device.copies, time_scale),
      up_(device.copies, time_scale),
      own_(device.memory, DeviceRoom::Where::kPinned) {
  for (int i = 0; i < ranks; ++i)
    arrivals_.push_back({.upload = DeviceUpload(device), .malformed = {}});
  sent_up_.reserve(arrivals_.size());
}

void DeviceGather::begin(std::span<const DevicePayload> payloads) {
  split_.resize(payloads.size());
  const std::size_t table = payloads.size() * kMessageLengthBytes;
  size_ = table;
  for (const DevicePayload& payload : payloads) size_ += payload.bytes;
  own_.grow(size_);
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    const auto length = static_cast<std::uint32_t>(payloads[i].bytes);
    std::memcpy(own_.data() + i * kMessageLengthBytes, &length, kMessageLengthBytes);
  }
  ready_ = table;
  next_ = 0;
  down_.begin();
  up_.begin();
  stretches_.clear();
  std::size_t at = table;
  for (const DevicePayload& payload : payloads) {
    add_copies(at, payload);
    at += payload.bytes;
  }
  end_stretch(at);
  sent_up_.clear();
  for (Arrival& arrival : arrivals_) {
    arrival.upload.clear();
    arrival.malformed = nullptr;
  }
}

/// Of a long payload several, so that its front can leave before its end has come.
void DeviceGather::add_copies(std::size_t at, const DevicePayload& payload) {
  for (std::size_t done = 0; done < payload.bytes;) {
    const std::size_t some = std::min(payload.bytes - done, kStretchBytes - copied_);
    copies_.push_back({own_.data() + at + done, payload.data + done, some});
    copied_ += some;
    done += some;
    if (copied_ == kStretchBytes) end_stretch(at + done);
  }
}

void DeviceGather::end_stretch(std::size_t end) {
  if (copies_.empty()) return;
  stretches_.push_back({DeviceBus::begun(device_.copies->begin_downloads(copies_)), end});
  copies_.clear();
  copied_ = 0;
}

std::size_t DeviceGather::ready() {
  while (next_ < stretches_.size() && down_.ended(stretches_[next_].copy))
    ready_ = stretches_[next_++].end;
  return ready_;
}

void DeviceGather::wait_for_own() {
  for (; next_ < stretches_.size(); ++next_) down_.pass(stretches_[next_].copy);
  ready_ = size_;
}

void DeviceGather::arrived(int rank, std::span<const std::byte> message) {
  if (rank == rank_) return;
  const auto number = static_cast<std::size_t>(rank);
  Arrival& arrival = arrivals_[number];
  try {
    split_message(message, split_);
  } catch (...) {
    arrival.malformed = std::current_exception();  // the other ranks' messages are on their way
    return;
  }
  for (const std::span<const std::byte> payload : split_) arrival.upload.add(payload);
  if (!arrival.upload.has_room()) return;
  arrival.upload.begin();
  sent_up_.push_back(number);
}

void DeviceGather::exchange(Pattern& pattern) {
  pattern.gather_staged(*this);
  if (!up_.slow()) return;
  for (const std::size_t rank : sent_up_) up_.pass(arrivals_[rank].upload.copy());
}

std::span<const DevicePayload> DeviceGather::payloads_of(int rank) {
  Arrival& arrival = arrivals_[static_cast<std::size_t>(rank)];
  if (arrival.malformed) std::rethrow_exception(arrival.malformed);
  return arrival.upload.payloads(up_);
}

BucketCopies DeviceGather::finish() {
  BucketCopies took;
  for (Stretch& stretch : stretches_) took.down += down_.take(stretch.copy);
  stretches_.clear();
  for (Arrival& arrival : arrivals_) took.up += arrival.upload.finish(up_);
  return took;
}

}  // namespace thinpipe
