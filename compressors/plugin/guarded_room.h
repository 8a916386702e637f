// Room that a plug-in writes into, with bytes before and after it that must stay as they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "compressors/kernels/buffer.h"

namespace thinpipe {

/// Memory is taken once; pages that nobody writes cost address space only.
class GuardedRoom {
 public:
  explicit GuardedRoom(std::size_t bytes) : bytes_(bytes), all_(bytes + 2 * kGuard) {
    std::fill_n(all_.data(), kGuard, kMark);
    std::fill_n(all_.data() + kGuard + bytes, kGuard, kMark);
  }

  std::size_t size() const { return bytes_; }
  std::byte* data() { return all_.data() + kGuard; }

  /// False when something was written outside of the room.
  bool intact() const {
    const auto marked = [](const std::byte* from) {
      return std::all_of(from, from + kGuard, [](std::byte found) { return found == kMark; });
    };
    return marked(all_.data()) && marked(all_.data() + kGuard + bytes_);
  }

 private:
  // A page: a loop that runs over by a few elements, or by one row too many, stays within.
  static constexpr std::size_t kGuard = 4096;
  static constexpr std::byte kMark{0xa5};

  std::size_t bytes_;
  Buffer<std::byte> all_;
};

}  // namespace thinpipe
