#include "workloads/replay/device_gather.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "base/clock.h"
#include "workloads/replay/message.h"

namespace thinpipe {

namespace {

// Bytes after which what was copied may be sent: tens of microseconds of PCIe, which is what a copy
// costs to ask for and to wait for.
constexpr std::size_t kStretchBytes = std::size_t{1} << 18;

// What DeviceCompressor::decode_add wants of where a payload lies.
constexpr std::size_t kDecodeSlack = 4;
std::size_t aligned(std::size_t bytes) { return (bytes + 3) / 4 * 4; }

}  // namespace

DeviceGather::DeviceGather(const RankDevice& device, int rank, int ranks, double time_scale)
    : device_(device),
      rank_(rank),
      time_scale_(time_scale),
      own_(device.memory, DeviceRoom::Where::kPinned) {
  for (int i = 0; i < ranks; ++i)
    arrivals_.push_back({.message = {},
                         .payloads = {},
                         .malformed = {},
                         .pinned = {device.memory, DeviceRoom::Where::kPinned},
                         .there = {device.memory, DeviceRoom::Where::kDevice}});
}

void DeviceGather::begin(std::span<const DevicePayload> payloads) {
  units_ = payloads.size();
  split_.resize(units_);
  const std::size_t table = units_ * kMessageLengthBytes;
  size_ = table;
  for (const DevicePayload& payload : payloads) size_ += payload.bytes;
  own_.grow(size_);
  for (std::size_t i = 0; i < units_; ++i) {
    const auto length = static_cast<std::uint32_t>(payloads[i].bytes);
    std::memcpy(own_.data() + i * kMessageLengthBytes, &length, kMessageLengthBytes);
  }
  ready_ = table;
  next_ = 0;
  down_free_ = up_free_ = 0;
  begun_ = now_seconds();
  stretches_.clear();
  std::size_t at = table;
  for (const DevicePayload& payload : payloads) {
    add_copies(at, payload);
    at += payload.bytes;
  }
  end_stretch(at);
  sent_up_.clear();
  for (Arrival& arrival : arrivals_) {
    arrival.message = {};
    arrival.malformed = nullptr;
    arrival.under_way = false;
    arrival.slow = {};
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
  stretches_.push_back({device_.copies->begin_downloads(copies_), end});
  copies_.clear();
  copied_ = 0;
}

std::size_t DeviceGather::ready() {
  while (next_ < stretches_.size()) {
    Stretch& stretch = stretches_[next_];
    if (!stretch.slow.taken) {
      if (!device_.copies->ended(stretch.number)) break;
      if (time_scale_ > 1) slow_down(stretch.number, begun_, down_free_, stretch.slow);
    }
    if (stretch.slow.taken && now_seconds() < stretch.slow.due) break;
    ready_ = stretch.end;
    ++next_;
  }
  return ready_;
}

/// Copies one way follow each other. @param free  when those before have ended
void DeviceGather::slow_down(std::size_t number, double begun, double& free, Slow& slow) {
  const double seconds = device_.copies->take(number);
  slow = {true, seconds, std::max(begun, free) + time_scale_ * seconds};
  free = slow.due;
}

void DeviceGather::pass_uploads() {
  if (time_scale_ <= 1) return;
  for (const std::size_t rank : sent_up_) {
    Arrival& arrival = arrivals_[rank];
    slow_down(arrival.number, arrival.begun, up_free_, arrival.slow);
  }
  if (!sent_up_.empty()) wait_until(up_free_);
}

double DeviceGather::took(std::size_t number, const Slow& slow) {
  return slow.taken ? slow.seconds : device_.copies->take(number);
}

void DeviceGather::arrived(int rank, std::span<const std::byte> message) {
  if (rank == rank_) return;
  Arrival& arrival = arrivals_[static_cast<std::size_t>(rank)];
  arrival.message = message;
  try {
    lay_out(arrival);
  } catch (...) {
    arrival.malformed = std::current_exception();  // the other ranks' messages are on their way
    return;
  }
  if (arrival.bytes <= std::min(arrival.pinned.size(), arrival.there.size())) send_up(arrival);
}

/// Sizes, and where each payload will lie in its room.
void DeviceGather::lay_out(Arrival& arrival) {
  split_message(arrival.message, split_);
  arrival.payloads.clear();
  arrival.bytes = 0;
  for (const std::span<const std::byte> payload : split_) {
    arrival.payloads.push_back({nullptr, payload.size()});
    arrival.bytes += aligned(payload.size()) + kDecodeSlack;
  }
}

void DeviceGather::send_up(Arrival& arrival) {
  std::size_t at = 0;
  const std::byte* from = arrival.message.data() + units_ * kMessageLengthBytes;
  for (DevicePayload& payload : arrival.payloads) {
    if (payload.bytes > 0) std::memcpy(arrival.pinned.data() + at, from, payload.bytes);
    payload.data = arrival.there.data() + at;
    from += payload.bytes;
    at += aligned(payload.bytes) + kDecodeSlack;
  }
  arrival.begun = now_seconds();
  arrival.number =
      device_.copies->begin_upload({arrival.there.data(), arrival.pinned.data(), arrival.bytes});
  arrival.under_way = true;
  sent_up_.push_back(static_cast<std::size_t>(&arrival - arrivals_.data()));
}

std::span<const DevicePayload> DeviceGather::payloads_of(int rank) {
  Arrival& arrival = arrivals_[static_cast<std::size_t>(rank)];
  if (arrival.malformed) std::rethrow_exception(arrival.malformed);
  if (!arrival.under_way) {
    arrival.pinned.grow(arrival.bytes);
    arrival.there.grow(arrival.bytes);
    send_up(arrival);
  }
  if (!arrival.slow.taken) device_.copies->join(arrival.number);
  return arrival.payloads;
}

BucketCopies DeviceGather::finish() {
  BucketCopies took;
  for (const Stretch& stretch : stretches_) took.down += this->took(stretch.number, stretch.slow);
  stretches_.clear();
  for (Arrival& arrival : arrivals_) {
    if (arrival.under_way) took.up += this->took(arrival.number, arrival.slow);
    arrival.under_way = false;
  }
  return took;
}

}  // namespace thinpipe
