// Bit streams stored in bytes, the lowest bit of each byte first. Also writes and reads Elias omega
// codes in such a stream.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "compressors/compressor.h"

namespace thinpipe {

/// Returns the eight bytes from byte `at` on as one number, with zeros after the end of `bytes`.
inline std::uint64_t load_word(std::span<const std::byte> bytes, std::size_t at) {
  if (at + sizeof(std::uint64_t) <= bytes.size()) [[likely]] {
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + at, sizeof word);
    return word;
  }
  std::uint64_t word = 0;
  for (int shift = 0; at < bytes.size(); ++at, shift += 8) {
    word |= static_cast<std::uint64_t>(bytes[at]) << shift;
  }
  return word;
}

/// Writes bits to the front of a span, which the caller must make large enough. May set bytes of
/// the span after the last bit to zero, but writes nothing outside the span.
class BitWriter {
 public:
  /// Greatest number of bits of one put(): seven may be pending, and a word has 64.
  static constexpr int kMaxBits = 56;

  explicit BitWriter(std::span<std::byte> out) : out_(out) {}

  /// Writes the low `bits` <= kMaxBits bits of `value`, whose higher bits must be zero.
  void put(std::uint64_t value, int bits) {
    assert(bits <= kMaxBits && (value >> bits) == 0);
    pending_ |= value << filled_;
    filled_ += bits;
    const auto whole = static_cast<std::size_t>(filled_) / 8;
    if (size_ + sizeof pending_ <= out_.size()) [[likely]] {
      // Every call stores a whole 64-bit word. The next call overwrites the bytes that are not full
      // yet.
      std::memcpy(out_.data() + size_, &pending_, sizeof pending_);
    } else {
      assert(size_ + whole <= out_.size());
      for (std::size_t i = 0; i < whole; ++i) {
        out_[size_ + i] = static_cast<std::byte>(pending_ >> (8 * i));
      }
    }
    size_ += whole;
    pending_ >>= 8 * whole;
    filled_ %= 8;
  }
  /// Writes `zeros` zero bits, then a one.
  void put_unary(std::uint64_t zeros) {
    for (; zeros >= kMaxBits; zeros -= kMaxBits) put(0, kMaxBits);
    put(std::uint64_t{1} << zeros, static_cast<int>(zeros) + 1);
  }
  /// Fills the last byte with zero bits. @returns all bytes written.
  std::size_t finish() {
    if (filled_ > 0) {
      assert(size_ < out_.size());
      out_[size_++] = static_cast<std::byte>(pending_);
    }
    pending_ = 0;
    filled_ = 0;
    return size_;
  }

 private:
  std::span<std::byte> out_;
  std::size_t size_ = 0;       ///< full bytes written
  std::uint64_t pending_ = 0;  ///< the bits after these bytes, the rest zero
  int filled_ = 0;             ///< number of pending bits, fewer than 8
};

/// Reads the bits of a BitWriter. @throws PayloadError when the bits end before a requested one.
class BitReader {
 public:
  /// Greatest number of bits of one get(): a word less the bits before the first one read.
  static constexpr int kMaxBits = 57;

  BitReader() = default;
  explicit BitReader(std::span<const std::byte> in) : in_(in) {}

  /// Returns the next `bits` <= kMaxBits bits.
  std::uint64_t get(int bits) {
    const std::uint64_t value = window() & ((std::uint64_t{1} << bits) - 1);
    skip(static_cast<std::uint64_t>(bits));
    return value;
  }
  /// Returns the number of zero bits before the next one bit, and consumes all of them.
  std::uint64_t get_unary() {
    std::uint64_t zeros = 0;
    for (;;) {
      const std::uint64_t bits = window();
      if (bits != 0) {
        const auto run = static_cast<std::uint64_t>(std::countr_zero(bits));
        skip(run + 1);
        return zeros + run;
      }
      // The bits that are certainly in the window, or up to the end.
      const std::uint64_t seen = std::min<std::uint64_t>(kMaxBits, remaining());
      if (seen == 0) throw_end();
      zeros += seen;
      at_ += seen;
    }
  }
  /// Skips `bits` bits.
  void skip(std::uint64_t bits) {
    if (bits > remaining()) throw_end();
    at_ += bits;
  }
  /// Checks that only the zero bits that fill the last byte are left. @throws PayloadError
  void expect_end() const {
    if (remaining() >= 8 || window() != 0) {
      throw PayloadError("payload has bits after the last code");
    }
  }

  std::span<const std::byte> bytes() const { return in_; }
  std::uint64_t at() const { return at_; }  ///< bits read so far
  std::uint64_t remaining() const { return std::uint64_t{8} * in_.size() - at_; }

 private:
  /// Returns the next kMaxBits bits or more, with zeros after the end of the stream.
  std::uint64_t window() const { return load_word(in_, at_ / 8) >> (at_ % 8); }
  [[noreturn]] static void throw_end() { throw PayloadError("payload ends within a code"); }

  std::span<const std::byte> in_;
  std::uint64_t at_ = 0;
};

// Elias omega codes: short for small numbers, without a limit.

/// Returns the length in bits of the Elias omega code of n >= 1 (Elias, 1975, the recursive code of
/// QSGD's appendix A.2).
constexpr int omega_size(std::uint64_t n) {
  int bits = 1;
  while (n > 1) {
    const int group = static_cast<int>(std::bit_width(n));
    bits += group;
    n = static_cast<std::uint64_t>(group) - 1;
  }
  return bits;
}

/// Writes the Elias omega code of n: groups of bits, then a zero bit. Each group has its highest
/// bit first, and its value is the length of the next group minus one. The last group is n.
inline void put_omega(std::uint64_t n, BitWriter& out) {
  std::uint64_t groups[8];  // more than the seven of the longest 64-bit number
  int count = 0;
  for (; n > 1; n = static_cast<std::uint64_t>(std::bit_width(n)) - 1) groups[count++] = n;
  while (count > 0) {
    const std::uint64_t group = groups[--count];
    for (int bit = static_cast<int>(std::bit_width(group)) - 1; bit >= 0; --bit) {
      out.put((group >> bit) & 1, 1);
    }
  }
  out.put(0, 1);
}

/// Reads one code. @throws PayloadError when the number is over `maximum` or the bits end.
inline std::uint64_t get_omega(BitReader& in, std::uint64_t maximum) {
  std::uint64_t n = 1;
  while (in.get(1) != 0) {
    if (n >= 40) throw PayloadError("an Elias code in the payload is too long");
    std::uint64_t group = 1;
    for (std::uint64_t bit = 0; bit < n; ++bit) group = (group << 1) | in.get(1);
    n = group;
  }
  if (n > maximum) throw PayloadError("an Elias code in the payload is over its limit");
  return n;
}

}  // namespace thinpipe
