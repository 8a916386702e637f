#include "workloads/collectives/unit_stream.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "compressors/compressor.h"
#include "workloads/collectives/push_pull_options.h"
#include "workloads/collectives/segments.h"

namespace thinpipe {

namespace {

// Segments to each peer, so that the next one is ready when one has been sent.
constexpr int kMinSegments = 4;

}  // namespace

std::size_t segments_for_each_of(int peers) {
  return static_cast<std::size_t>(std::max(kMinSegments, kSegmentsInFlight / peers));
}

UnitSender::UnitSender(Transport& transport, int peer, int first_slot, std::size_t window, int tag,
                       std::size_t most_units, std::size_t ahead)
    : window_(transport, peer, first_slot, window, tag),
      window_size_(window),
      ahead_(ahead),
      staging_(window * kSegmentBytes) {
  waiting_.reserve(most_units);
}

void UnitSender::add(std::uint32_t unit, std::span<const std::byte> payload) {
  if (next_ == waiting_.size() && (ahead_ == kUnpaced || answered_ == next_)) {
    waiting_.clear();
    next_ = answered_ = 0;
  }
  const std::size_t begin =
      waiting_.empty() ? 0 : waiting_.back().begin + waiting_.back().payload.size();
  waiting_.push_back({unit, payload, begin});
}

void UnitSender::answered(std::uint32_t unit) {
  const auto first = waiting_.begin() + static_cast<std::ptrdiff_t>(answered_);
  const auto found =
      std::find_if(first, waiting_.end(), [&](const Waiting& one) { return one.unit == unit; });
  if (found != waiting_.end()) found->answered = true;
  while (answered_ < waiting_.size() && waiting_[answered_].answered) ++answered_;
}

bool UnitSender::may_send() const {
  if (budget_ != nullptr && budget_->used >= budget_->allowed) return false;
  if (ahead_ == kUnpaced || next_ <= answered_ + 1) return true;
  const Waiting& awaited = waiting_[answered_];
  return waiting_[next_].begin + offset_ < awaited.begin + awaited.payload.size() + ahead_;
}

bool UnitSender::advance() {
  bool moved = window_.collect();
  while (next_ < waiting_.size() && !window_.full() && may_send()) {
    const std::uint32_t unit = waiting_[next_].unit;
    const std::span<const std::byte> payload = waiting_[next_].payload;
    const bool first = offset_ == 0;
    const std::size_t size =
        std::min(payload.size() - offset_, kSegmentBytes - (first ? kUnitHeadBytes : 0));
    if (first) {
      const std::uint32_t head[] = {unit, length_field(payload.size())};
      std::byte* const segment = staging_.data() + window_.sent() % window_size_ * kSegmentBytes;
      std::memcpy(segment, head, kUnitHeadBytes);
      std::copy_n(payload.begin(), size, segment + kUnitHeadBytes);
      window_.send({segment, kUnitHeadBytes + size});
    } else {
      window_.send(payload.subspan(offset_, size));
    }
    offset_ += size;
    moved = true;
    if (budget_ != nullptr) budget_->used += size + (first ? kUnitHeadBytes : 0);
    if (offset_ < payload.size()) continue;
    ++next_;
    offset_ = 0;
  }
  return moved;
}

bool UnitReceiver::advance(UnitSink& sink) {
  return window_.advance(transport_, [&](std::span<const std::byte> segment) {
    take(segment, sink);
    received_ += segment.size();
  });
}

void UnitReceiver::take(std::span<const std::byte> segment, UnitSink& sink) {
  std::size_t capacity = kSegmentBytes;
  if (!arriving_) {
    std::uint32_t head[2] = {};
    if (segment.size() < kUnitHeadBytes)
      throw PayloadError(
          fmt::format("rank {} sent {} bytes; expected at least the {} bytes of a unit's head",
                      peer_, segment.size(), kUnitHeadBytes));
    std::memcpy(head, segment.data(), kUnitHeadBytes);
    segment = segment.subspan(kUnitHeadBytes);
    capacity -= kUnitHeadBytes;
    unit_ = head[0];
    payload_ = sink.begin_unit(peer_, unit_, head[1]);
    here_ = 0;
    window_.expect(segments_of_bytes(kUnitHeadBytes + payload_.size()) - 1);
    arriving_ = true;
  }
  const std::span<std::byte> rest = payload_.subspan(here_);
  // Shorter segments would be more in number than the posted receives.
  if (segment.size() != std::min(rest.size(), capacity))
    throw PayloadError(
        fmt::format("rank {}, unit {}: a segment of {} bytes; expected {} ({} bytes are left)",
                    peer_, unit_, segment.size(), std::min(rest.size(), capacity), rest.size()));
  std::copy(segment.begin(), segment.end(), rest.begin());
  here_ += segment.size();
  if (here_ < payload_.size()) return;
  arriving_ = false;
  sink.end_unit(peer_, unit_, payload_);
}

}  // namespace thinpipe
