// Little-endian bytes of payloads and states: a writer into a span that is known to suffice, and a
// reader that checks every length.
#pragma once

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "compressors/compressor.h"

namespace thinpipe {

// Payloads are copied to and from memory without conversion.
static_assert(std::endian::native == std::endian::little,
              "thinpipe runs on little-endian machines");

/// Writes to the front of a span. Writing past its end is a bug: callers size it beforehand.
class ByteWriter {
 public:
  explicit ByteWriter(std::span<std::byte> out) : out_(out) {}

  template <class T>
  void put(T value) {
    put_bytes(std::as_bytes(std::span<const T>(&value, 1)));
  }
  void put_bytes(std::span<const std::byte> bytes) {
    assert(bytes.size() <= out_.size() - size_);
    if (!bytes.empty()) std::memcpy(out_.data() + size_, bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  /// Writes a LEB128 number: seven bits per byte, lowest first, the high bit set on all but the
  /// last.
  void put_varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) put(static_cast<std::uint8_t>(value | 0x80));
    put(static_cast<std::uint8_t>(value));
  }

  std::size_t size() const { return size_; }
  std::span<std::byte> free() { return out_.subspan(size_); }
  void advance(std::size_t bytes) { size_ += bytes; }  ///< `bytes` were written into free()

 private:
  std::span<std::byte> out_;
  std::size_t size_ = 0;
};

/// Returns the number of bytes that put_varint writes.
constexpr std::size_t varint_size(std::uint64_t value) {
  std::size_t size = 1;
  for (; value >= 0x80; value >>= 7) ++size;
  return size;
}

/// Reads from the front of a span. Every read @throws PayloadError when the bytes end before it.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> in) : in_(in) {}

  template <class T>
  T get(const char* what) {
    T value;
    std::memcpy(&value, get_bytes(sizeof value, what).data(), sizeof value);
    return value;
  }
  std::span<const std::byte> get_bytes(std::size_t bytes, const char* what) {
    if (bytes > in_.size() - at_) {
      throw PayloadError(std::string("payload ends at byte ") + std::to_string(in_.size()) +
                         "; expected " + std::to_string(bytes) + " bytes of " + what +
                         " from byte " + std::to_string(at_));
    }
    at_ += bytes;
    return in_.subspan(at_ - bytes, bytes);
  }
  /// Reads a LEB128 number up to `maximum`. Only its shortest form is accepted.
  std::uint64_t get_varint(std::uint64_t maximum, const char* what) {
    std::uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const auto byte = get<std::uint8_t>(what);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      const bool last = byte < 0x80;
      if (value > maximum || (last && byte == 0 && shift > 0) || (!last && shift >= 28)) {
        throw PayloadError(std::string(what) + " in the payload is not a number of at most " +
                           std::to_string(maximum) + " in its shortest form");
      }
      if (last) return value;
    }
  }

  std::size_t remaining() const { return in_.size() - at_; }
  std::span<const std::byte> rest() {
    const auto bytes = in_.subspan(at_);
    at_ = in_.size();
    return bytes;
  }
  void expect_end() const {
    if (remaining() != 0) {
      throw PayloadError("payload is " + std::to_string(in_.size()) + " bytes long; expected " +
                         std::to_string(at_));
    }
  }

 private:
  std::span<const std::byte> in_;
  std::size_t at_ = 0;
};

// Arrays of floats and flags in states.

inline void save_floats(ByteWriter& out, std::span<const float> values) {
  out.put_bytes(std::as_bytes(values));
}

inline void load_floats(ByteReader& in, std::span<float> values, const char* what) {
  const auto bytes = in.get_bytes(values.size_bytes(), what);
  if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
}

/// Reads a flag. @throws PayloadError for a byte that is neither 0 nor 1.
inline bool load_flag(ByteReader& in, const char* what) {
  const auto found = in.get<std::uint8_t>(what);
  if (found > 1) {
    throw PayloadError(std::string("flag '") + what + "' of the memory: found " +
                       std::to_string(found) + ", expected 0 or 1");
  }
  return found == 1;
}

}  // namespace thinpipe
