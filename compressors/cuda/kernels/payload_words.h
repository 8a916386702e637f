// A payload as aligned words hold it: a count of one to five bytes, values, positions. Where one
// part ends and the next begins is known by the byte; each word has one who writes it.
#pragma once

#include <cstdint>

#include "base/both.h"

namespace thinpipe::cuda {

/// How many bytes a value codec makes of some values (encode/value_codec.h).
struct ValueSize {
  std::uint32_t bits = 32;  ///< of a value
  std::uint32_t head = 0;   ///< bytes before the values, where there are any
  std::uint32_t group = 0;  ///< every so many have a head of their own; 0: all have one

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

/// The aligned word in which `word`, that begins at byte `at`, begins, with what `before`, the word
/// before it, leaves of it.
THINPIPE_BOTH inline std::uint32_t joined(std::uint32_t before, std::uint32_t word,
                                          std::uint32_t at) {
  const std::uint32_t shift = at % 4 * 8;
  return shift == 0 ? word : word << shift | before >> (32 - shift);
}

/// The count that a payload begins with: LEB128, the first byte the lowest.
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
  /// Its last four bytes; where there are fewer, the lower ones are 0.
  THINPIPE_BOTH std::uint32_t end() const {
    const std::uint32_t some = bytes();
    return static_cast<std::uint32_t>(some > 4 ? code() >> 8 * (some - 4)
                                               : code() << 8 * (4 - some));
  }
};

/// Where the positions of so many elements begin.
THINPIPE_BOTH inline std::uint32_t positions_at(const ValueSize& values, std::uint32_t count) {
  return PayloadCount{count}.bytes() + values.bytes(count);
}

}  // namespace thinpipe::cuda
