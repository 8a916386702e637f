// A stream of bits in bytes, lowest bit of each byte first.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "compressors/compressor.h"

namespace thinpipe {

/// Writes to the front of a span that is known to suffice; never touches a byte past the last bit.
class BitWriter {
 public:
  explicit BitWriter(std::span<std::byte> out) : out_(out) {}

  /// The low `bits` <= 32 bits of `value`; its higher bits must be zero.
  void put(std::uint64_t value, int bits) {
    assert(bits <= 32 && (value >> bits) == 0);
    pending_ |= value << filled_;
    filled_ += bits;
    if (filled_ < 32) return;
    assert(size_ + 4 <= out_.size());
    const auto word = static_cast<std::uint32_t>(pending_);
    std::memcpy(out_.data() + size_, &word, sizeof word);
    size_ += sizeof word;
    pending_ >>= 32;
    filled_ -= 32;
  }
  /// `zeros` zero bits, then a one.
  void put_unary(std::uint64_t zeros) {
    for (; zeros >= 32; zeros -= 32) put(0, 32);
    put(std::uint64_t{1} << zeros, static_cast<int>(zeros) + 1);
  }
  /// Fills the last byte with zero bits. @returns bytes written in all.
  std::size_t finish() {
    for (; filled_ > 0; filled_ -= 8, pending_ >>= 8) {
      assert(size_ < out_.size());
      out_[size_++] = static_cast<std::byte>(pending_ & 0xff);
    }
    filled_ = 0;
    return size_;
  }

 private:
  std::span<std::byte> out_;
  std::size_t size_ = 0;
  std::uint64_t pending_ = 0;  ///< fewer than 32 bits, the rest zero
  int filled_ = 0;
};

/// Reads what BitWriter wrote. @throws PayloadError when the bits end before what is asked for.
class BitReader {
 public:
  BitReader() = default;
  explicit BitReader(std::span<const std::byte> in)
      : next_(in.data()), end_(in.data() + in.size()) {}

  std::uint64_t get(int bits) {
    if (filled_ < bits) refill(bits);
    const std::uint64_t value = pending_ & ((std::uint64_t{1} << bits) - 1);
    drop(bits);
    return value;
  }
  /// Counts zeros up to the next one and takes both.
  std::uint64_t get_unary() {
    std::uint64_t zeros = 0;
    for (;;) {
      if (filled_ == 0) refill(1);
      const int run = std::countr_zero(pending_);
      if (run < filled_) {
        drop(run + 1);
        return zeros + static_cast<std::uint64_t>(run);
      }
      zeros += static_cast<std::uint64_t>(filled_);
      drop(filled_);
    }
  }
  /// Nothing but the zero bits that fill the last byte may be left.
  void expect_end() const {
    if (next_ != end_ || filled_ >= 8 || pending_ != 0) {
      throw PayloadError("payload has bits after the last position");
    }
  }

 private:
  void drop(int bits) {
    pending_ >>= bits;
    filled_ -= bits;
  }
  /// At least `needed` <= 32 bits into pending_.
  void refill(int needed) {
    while (filled_ <= 24 && end_ - next_ >= 4) {
      std::uint32_t word = 0;
      std::memcpy(&word, next_, sizeof word);
      pending_ |= static_cast<std::uint64_t>(word) << filled_;
      filled_ += 32;
      next_ += 4;
    }
    while (filled_ < needed && next_ != end_) {
      pending_ |= static_cast<std::uint64_t>(*next_++) << filled_;
      filled_ += 8;
    }
    if (filled_ < needed) throw PayloadError("payload ends within its positions");
  }

  const std::byte* next_ = nullptr;
  const std::byte* end_ = nullptr;
  std::uint64_t pending_ = 0;  ///< fewer than 64 bits, the rest zero
  int filled_ = 0;
};

}  // namespace thinpipe
