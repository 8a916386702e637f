// Volumes of arrays and of framed messages, from which closed forms are put together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>

#include "workloads/exchange/cost/traffic.h"
#include "workloads/exchange/segments.h"

namespace thinpipe {

/// Parts of an array.
class ArrayVolume {
 public:
  ArrayVolume(const SummedArray& array, int parts)
      : parts_{array.elements, static_cast<std::size_t>(parts), size_of(array.type)} {}
  /// Of parts [first, last).
  Volume of(int first, int last) const {
    const auto from = static_cast<std::size_t>(first), to = static_cast<std::size_t>(last);
    return {parts_.segments(from, to), parts_.size(from, to) * parts_.element_bytes};
  }
  /// Of one part; counted round.
  Volume of(int part) const {
    const int wrapped = part % static_cast<int>(parts_.count);
    return of(wrapped, wrapped + 1);
  }
  Volume all() const { return of(0, static_cast<int>(parts_.count)); }

 private:
  Parts parts_;
};

/// Messages of all ranks, each with its length before it.
class MessageVolume {
 public:
  explicit MessageVolume(std::span<const std::size_t> sizes) : sizes_(sizes) {}
  int ranks() const { return static_cast<int>(sizes_.size()); }
  /// Of one rank; counted round.
  Volume of(int rank) const {
    const std::size_t framed =
        sizes_[static_cast<std::size_t>(rank % ranks())] + sizeof(std::uint64_t);
    return {segments_of_bytes(framed), framed};
  }
  /// Of so many ranks from one on; counted round.
  Volume of(int first, int count) const {
    Volume sum;
    for (int i = 0; i < count; ++i) sum = sum + of(first + i);
    return sum;
  }
  Volume all() const { return of(0, ranks()); }

 private:
  std::span<const std::size_t> sizes_;
};

}  // namespace thinpipe
