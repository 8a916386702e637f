// How collectives cut messages into segments, and how many segments are under way.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "base/error.h"
#include "workloads/collectives/transport.h"

namespace thinpipe {

/// Bytes of one segment. This size is under Open MPI's eager limit (64 KiB), so a segment needs no
/// handshake. 32 kB was fastest on the development machine; 64 kB and more were clearly slower.
inline constexpr std::size_t kSegmentBytes = 32768;
/// Most segments that may be under way to one peer; the same for segments from one peer.
inline constexpr int kSegmentsInFlight = 16;

/// Returns a payload's length as a field of 32 bits before it.
/// @throws InputError for payloads of 4 GiB and more
inline std::uint32_t length_field(std::size_t bytes) {
  if (bytes > std::numeric_limits<std::uint32_t>::max())
    throw InputError(fmt::format(
        "a payload has {} bytes; expected less than 4 GiB, as with --granularity tensor", bytes));
  return static_cast<std::uint32_t>(bytes);
}

/// Returns the number of segments of so many bytes.
constexpr std::size_t segments_of_bytes(std::size_t bytes) {
  return (bytes + kSegmentBytes - 1) / kSegmentBytes;
}

/// An array that is cut into `count` slices, as evenly as possible: the first `elements mod count`
/// slices are one element longer than the others. Each slice is cut into segments of its own.
/// Segments are numbered over all slices.
struct Parts {
  std::size_t elements = 0, count = 1;
  std::size_t element_bytes = sizeof(float);

  /// Returns the elements of one segment.
  std::size_t segment() const { return kSegmentBytes / element_bytes; }

  std::size_t begin(std::size_t part) const {
    return part * (elements / count) + std::min(part, elements % count);
  }
  std::size_t size(std::size_t part) const { return begin(part + 1) - begin(part); }
  /// Returns the elements, and the segments, of the slices [first, last).
  std::size_t size(std::size_t first, std::size_t last) const { return begin(last) - begin(first); }
  std::size_t segments(std::size_t first, std::size_t last) const {
    return first_segment(last) - first_segment(first);
  }
  /// Returns the number of the slice's first segment.
  std::size_t first_segment(std::size_t part) const {
    const std::size_t longer = std::min(part, elements % count), size = elements / count;
    return longer * segments_of_bytes((size + 1) * element_bytes) +
           (part - longer) * segments_of_bytes(size * element_bytes);
  }
};

/// The segments that are being sent to a peer: at most `size` at a time, in the transport's slots
/// from `first_slot` on, in turn.
class SendWindow {
 public:
  SendWindow(Transport& transport, int peer, int first_slot, std::size_t size, int tag = 0)
      : transport_(transport), peer_(peer), first_slot_(first_slot), tag_(tag), size_(size) {}

  std::size_t sent() const { return sent_; }
  bool full() const { return sent_ - done_ == size_; }
  bool empty() const { return sent_ == done_; }

  /// Starts to send a segment. Not while full().
  void send(std::span<const std::byte> segment) {
    transport_.send(slot(sent_), peer_, tag_, segment);
    ++sent_;
  }

  /// Frees the slots of the oldest segments that have been sent. @returns whether any were
  bool collect() {
    const std::size_t before = done_;
    while (!empty() && transport_.done(slot(done_))) ++done_;
    return done_ != before;
  }

 private:
  int slot(std::size_t segment) const { return first_slot_ + static_cast<int>(segment % size_); }

  Transport& transport_;
  int peer_, first_slot_, tag_;
  std::size_t size_;
  std::size_t sent_ = 0, done_ = 0;
};

/// The segments that are received from a peer, in order: at most `size` are posted at a time, each
/// with a buffer of its own, in the transport's slots from `first_slot` on, in turn.
class ReceiveWindow {
 public:
  ReceiveWindow(int peer, int first_slot, std::size_t size, int tag)
      : peer_(peer),
        first_slot_(first_slot),
        tag_(tag),
        size_(size),
        staging_(std::make_unique_for_overwrite<std::byte[]>(size * kSegmentBytes)) {}

  /// Begins anew, and expects so many segments.
  void begin(std::size_t segments) {
    certain_ = segments;
    posted_ = arrived_ = 0;
  }
  /// Expects so many segments more. Receives are posted only for segments that must arrive.
  void expect(std::size_t segments) { certain_ += segments; }

  /// Calls take(segment) for each segment that has arrived; take() may expect() more. @returns
  /// whether any segment has arrived
  template <class Take>
  bool advance(Transport& transport, const Take& take) {
    for (bool moved = false;; moved = true) {
      for (; posted_ < certain_ && posted_ - arrived_ < size_; ++posted_)
        transport.receive(slot(posted_), peer_, tag_, buffer(posted_));
      std::size_t size = 0;
      if (arrived_ == posted_ || !transport.done(slot(arrived_), &size)) return moved;
      take(std::span<const std::byte>(buffer(arrived_).first(size)));
      ++arrived_;
    }
  }

 private:
  int slot(std::size_t segment) const { return first_slot_ + static_cast<int>(segment % size_); }
  std::span<std::byte> buffer(std::size_t segment) {
    return {staging_.get() + segment % size_ * kSegmentBytes, kSegmentBytes};
  }

  int peer_, first_slot_, tag_;
  std::size_t size_;
  std::unique_ptr<std::byte[]> staging_;  // not initialised: only received pages take memory
  std::size_t certain_ = 0, posted_ = 0, arrived_ = 0;
};

}  // namespace thinpipe
