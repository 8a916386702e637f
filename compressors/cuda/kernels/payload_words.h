// Writes sparse payloads in aligned words. A payload consists of a count of one to five bytes, the
// values and the positions. Values and positions may begin at any byte; each word is written by one
// thread.
#pragma once

#include <cstdint>

#include "base/both.h"

namespace thinpipe::cuda {

/// Encoded size of a value codec's values (encode/value_codec.h).
struct ValueSize {
  std::uint32_t bits = 32;  ///< per value
  std::uint32_t head = 0;   ///< bytes before the values, if there are any values
  std::uint32_t group = 0;  ///< values per head; 0: one head for all values

  THINPIPE_BOTH std::uint32_t bytes(std::uint32_t count) const {
    if (group == 0) return part(count);
    return count / group * part(group) + part(count % group);
  }

 private:
  THINPIPE_BOTH std::uint32_t part(std::uint32_t count) const {
    if (count == 0) return 0;
    return head + static_cast<std::uint32_t>((std::uint64_t{count} * bits + 7) / 8);
  }
};

/// Returns the aligned word of the payload that contains byte `at`, where the unaligned `word`
/// begins. The result consists of the last bytes of the preceding word `before` and the first bytes
/// of `word`.
THINPIPE_BOTH inline std::uint32_t joined(std::uint32_t before, std::uint32_t word,
                                          std::uint32_t at) {
  const std::uint32_t shift = at % 4 * 8;
  return shift == 0 ? word : word << shift | before >> (32 - shift);
}

/// The count at the beginning of a payload, in LEB128 (lowest byte first).
struct PayloadCount {
  std::uint32_t count;

  THINPIPE_BOTH std::uint32_t bytes() const {
    std::uint32_t some = 1;
    for (std::uint32_t left = count; left >= 0x80; left >>= 7) ++some;
    return some;
  }
  THINPIPE_BOTH std::uint64_t code() const {
    std::uint64_t all = 0;
    std::uint32_t left = count;
    int shift = 0;
    for (; left >= 0x80; left >>= 7, shift += 8)
      all |= static_cast<std::uint64_t>((left & 0x7f) | 0x80) << shift;
    return all | static_cast<std::uint64_t>(left) << shift;
  }
  /// Returns the last four bytes of the count; if it has fewer, the lower ones are 0.
  THINPIPE_BOTH std::uint32_t end() const {
    const std::uint32_t some = bytes();
    return static_cast<std::uint32_t>(some > 4 ? code() >> 8 * (some - 4)
                                               : code() << 8 * (4 - some));
  }
};

/// Returns the byte at which the positions of `count` elements begin.
THINPIPE_BOTH inline std::uint32_t positions_at(const ValueSize& values, std::uint32_t count) {
  return PayloadCount{count}.bytes() + values.bytes(count);
}

}  // namespace thinpipe::cuda
