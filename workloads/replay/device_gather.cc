#include "workloads/replay/device_gather.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "workloads/replay/message.h"

namespace thinpipe {

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
  begin_step(payloads);
  for (std::size_t i = 0; i < payloads.size(); ++i) add_copies(i, payloads[i]);
  end_stretch();
}

void DeviceGather::begin(std::span<const DevicePayload> payloads,
                         std::span<const std::size_t> order) {
  begin_step(payloads);
  for (const std::size_t i : order) add_copies(i, payloads[i]);
  end_stretch();
}

void DeviceGather::begin_step(std::span<const DevicePayload> payloads) {
  split_.resize(payloads.size());
  places_.resize(payloads.size());
  copied_before_.resize(payloads.size());
  size_ = payloads.size() * kMessageLengthBytes;
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    places_[i] = size_;
    size_ += payloads[i].bytes;
  }
  own_.grow(size_);
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    const auto length = static_cast<std::uint32_t>(payloads[i].bytes);
    std::memcpy(own_.data() + i * kMessageLengthBytes, &length, kMessageLengthBytes);
  }
  next_ = 0;
  asked_ = 0;
  down_.begin();
  up_.begin();
  stretches_.clear();
  sent_up_.clear();
  for (Arrival& arrival : arrivals_) {
    arrival.upload.clear();
    arrival.malformed = nullptr;
  }
}

/// Of a long payload several, so that its front can leave before its end has come.
void DeviceGather::add_copies(std::size_t unit, const DevicePayload& payload) {
  copied_before_[unit] = asked_;
  for (std::size_t done = 0; done < payload.bytes;) {
    const std::size_t some = std::min(payload.bytes - done, kDownloadPiece - copied_);
    copies_.push_back({own_.data() + places_[unit] + done, payload.data + done, some});
    copied_ += some;
    asked_ += some;
    done += some;
    if (copied_ == kDownloadPiece) end_stretch();
  }
}

void DeviceGather::end_stretch() {
  if (copies_.empty()) return;
  stretches_.push_back({DeviceBus::begun(device_.copies->begin_downloads(copies_)), asked_});
  copies_.clear();
  copied_ = 0;
}

/// Bytes of payloads, in the order in which they were asked for.
std::size_t DeviceGather::copied() {
  while (next_ < stretches_.size() && down_.ended(stretches_[next_].copy)) ++next_;
  return next_ == 0 ? 0 : stretches_[next_ - 1].end;
}

std::size_t DeviceGather::ready() { return size_ - asked_ + copied(); }

std::size_t DeviceGather::come(std::size_t unit) {
  const std::size_t all = copied();
  return all - std::min(all, copied_before_[unit]);
}

void DeviceGather::wait_for_own() {
  for (; next_ < stretches_.size(); ++next_) down_.pass(stretches_[next_].copy);
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
