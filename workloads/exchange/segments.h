// How patterns cut what they send.
#pragma once

#include <algorithm>
#include <cstddef>

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

}  // namespace thinpipe
