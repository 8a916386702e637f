// Sparse payloads in aligned words: how kernels write them, and read those to decode. A payload
// consists of a count of one to five bytes, the values and the positions. Values and positions may
// begin at any byte; each word is written by one thread.
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

/// Problem found in a payload; 0: none.
enum class PayloadProblem : std::uint32_t {
  kNone = 0,
  kCount = 1,
  kLength = 2,
  kPosition = 3,
  kValue = 4
};

/// Parts of a sparse payload.
struct PayloadParts {
  PayloadProblem problem = PayloadProblem::kCount;
  std::uint32_t count = 0;
  std::uint32_t values = 0;     ///< first byte of the values
  std::uint32_t positions = 0;  ///< first byte of the positions; not past the end
};

struct PayloadView {
  const std::uint32_t* words;  ///< aligned; the last word is readable as a whole
  std::uint32_t bytes;
  std::uint32_t n;  ///< elements of the tensor
  ValueSize value_size;

  THINPIPE_BOTH PayloadParts open() const {
    PayloadParts parts;
    std::uint64_t value = 0;
    const std::uint32_t at = after_number(0, value);
    if (at == 0 || value > n) return parts;
    parts.count = static_cast<std::uint32_t>(value);
    parts.values = at;
    const bool fits = value_size.bytes(parts.count) <= bytes - at;
    parts.problem = fits ? PayloadProblem::kNone : PayloadProblem::kLength;
    parts.positions = fits ? at + value_size.bytes(parts.count) : bytes;
    return parts;
  }
  /// Reads a number of up to five bytes in LEB128 at byte `at`. @returns the byte after it; 0 if
  /// there is no number in its shortest form
  THINPIPE_BOTH std::uint32_t after_number(std::uint32_t at, std::uint64_t& value) const {
    value = 0;
    for (std::uint32_t i = 0; i < 5 && at < bytes; ++i) {
      const std::uint32_t byte = byte_at(at++);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << 7 * i;
      if (byte < 0x80) return i == 0 || byte != 0 ? at : 0;
    }
    return 0;
  }

  THINPIPE_BOTH std::uint32_t byte_at(std::uint32_t at) const {
    return words[at / 4] >> at % 4 * 8 & 0xff;
  }
  /// Returns the word that begins at byte `at`; bits after the end are 0.
  THINPIPE_BOTH std::uint32_t word_at(std::uint32_t at) const {
    return joined_up(word(at / 4), word(at / 4 + 1), at % 4 * 8);
  }
  /// Returns 32 bits from bit `bit`; bits after the end are 0.
  THINPIPE_BOTH std::uint32_t bits_at(std::uint64_t bit) const {
    const auto at = static_cast<std::uint32_t>(bit / 32);
    return joined_up(word(at), word(at + 1), static_cast<std::uint32_t>(bit % 32));
  }

 private:
  THINPIPE_BOTH std::uint32_t word(std::uint32_t i) const {
    const std::uint32_t whole = bytes / 4;
    if (i < whole) return words[i];
    if (i > whole || bytes % 4 == 0) return 0;
    return words[i] & ((std::uint32_t{1} << bytes % 4 * 8) - 1);
  }
  THINPIPE_BOTH static std::uint32_t joined_up(std::uint32_t low, std::uint32_t high,
                                               std::uint32_t shift) {
    return shift == 0 ? low : low >> shift | high << (32 - shift);
  }
};

}  // namespace thinpipe::cuda
