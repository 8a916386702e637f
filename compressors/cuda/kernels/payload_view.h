// A payload to decode, of which only the length is known to be valid.
#pragma once

#include <cstdint>

#include "compressors/cuda/kernels/payload_words.h"

namespace thinpipe::cuda {

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
    for (std::uint32_t at = 0; at < 5 && at < bytes;) {
      const std::uint32_t byte = byte_at(at);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << 7 * at;
      ++at;
      if (byte >= 0x80) continue;
      const bool shortest = at == 1 || byte != 0;
      if (value > n || !shortest) return parts;
      parts.count = static_cast<std::uint32_t>(value);
      parts.values = at;
      const bool fits = value_size.bytes(parts.count) <= bytes - at;
      parts.problem = fits ? PayloadProblem::kNone : PayloadProblem::kLength;
      parts.positions = fits ? at + value_size.bytes(parts.count) : bytes;
      return parts;
    }
    return parts;
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
