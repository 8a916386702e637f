// How patterns cut what they send into segments, and how many of these are under way.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "workloads/exchange/transport.h"

namespace thinpipe {

/// Bytes of one message. Under Open MPI's eager limit (64 KiB), so that a segment needs no
/// handshake; 32 kB did best on the development machine, 64 kB and more clearly worse.
inline constexpr std::size_t kSegmentBytes = 32768;
/// Segments under way to one peer, and from one.
inline constexpr int kSegmentsInFlight = 16;

/// Messages that carry so many bytes.
constexpr std::size_t segments_of_bytes(std::size_t bytes) {
  return (bytes + kSegmentBytes - 1) / kSegmentBytes;
}

/// An array in `count` parts as even as can be: the first `elements mod count` are one longer. Each
/// part is cut into segments of its own, numbered through over all parts.
struct Parts {
  std::size_t elements = 0, count = 1;
  std::size_t element_bytes = sizeof(float);

  /// Elements of one message.
  std::size_t segment() const { return kSegmentBytes / element_bytes; }

  std::size_t begin(std::size_t part) const {
    return part * (elements / count) + std::min(part, elements % count);
  }
  std::size_t size(std::size_t part) const { return begin(part + 1) - begin(part); }
  /// Elements, and segments, of the parts [first, last).
  std::size_t size(std::size_t first, std::size_t last) const { return begin(last) - begin(first); }
  std::size_t segments(std::size_t first, std::size_t last) const {
    return first_segment(last) - first_segment(first);
  }
  /// The number of the part's first segment.
  std::size_t first_segment(std::size_t part) const {
    const std::size_t longer = std::min(part, elements % count), size = elements / count;
    return longer * segments_of_bytes((size + 1) * element_bytes) +
           (part - longer) * segments_of_bytes(size * element_bytes);
  }
};

/// The segments that are on their way to a peer: at most `size` of them at a time, in the
/// transport's slots from `first_slot` on, in turn.
class SendWindow {
 public:
  SendWindow(Transport& transport, int peer, int first_slot, std::size_t size, int tag = 0)
      : transport_(transport), peer_(peer), first_slot_(first_slot), tag_(tag), size_(size) {}

  std::size_t sent() const { return sent_; }
  bool full() const { return sent_ - done_ == size_; }
  bool empty() const { return sent_ == done_; }

  /// Not while full().
  void send(std::span<const std::byte> segment) {
    transport_.send(slot(sent_), peer_, tag_, segment);
    ++sent_;
  }

  /// Makes room where the oldest have ended. @returns whether any had
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

}  // namespace thinpipe
