// Encodes and decodes netlink attributes. The reader validates untrusted bytes.
#pragma once

#include <linux/netlink.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace thinpipe {

/// Appends attributes in order. An attribute is a 4-byte header (length without padding, type), the
/// value, and padding to a multiple of 4 bytes.
class AttributeWriter {
 public:
  /// Appends a fixed structure, such as netem's options before its attributes. The size must be a
  /// multiple of 4.
  template <typename T>
  void put_struct(const T& value) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) % 4 == 0);
    append(&value, sizeof(T));
  }

  template <typename T>
  void put(std::uint16_t type, const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    put_bytes(type, std::as_bytes(std::span(&value, 1)));
  }

  void put_bytes(std::uint16_t type, std::span<const std::byte> value);
  void put_text(std::uint16_t type, std::string_view text);  ///< appends the terminating zero too
  /// Appends an attribute that consists of attributes.
  void put_nested(std::uint16_t type, const AttributeWriter& inner) {
    put_bytes(type, inner.bytes());
  }

  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  void append(const void* data, std::size_t size);
  std::vector<std::byte> bytes_;
};

/// Attributes by type, as views into the bytes they were parsed from. The last of repeated
/// attributes counts, as in the kernel.
class AttributeReader {
 public:
  /// @param what  the netlink message's name, for error texts
  /// @throws RunError when an attribute's length is smaller than its header or reaches beyond the
  /// end of `bytes`.
  AttributeReader(std::span<const std::byte> bytes, std::string what);

  bool has(std::uint16_t type) const { return attributes_.contains(type); }
  /// Returns the value. @throws RunError when the attribute is missing.
  std::span<const std::byte> bytes(std::uint16_t type) const;
  /// Returns the value up to the first zero. @throws RunError when the attribute is missing.
  std::string text(std::uint16_t type) const;

  /// Returns the first bytes of the value as a T. Newer kernels may append to their structures.
  /// @throws RunError when the attribute is missing or shorter than T.
  template <typename T>
  T get(std::uint16_t type) const {
    return read_struct<T>(bytes(type), what_);
  }

  /// Returns get(type), or `otherwise` if the attribute is missing.
  template <typename T>
  T get_or(std::uint16_t type, T otherwise) const {
    return has(type) ? get<T>(type) : otherwise;
  }

  /// Returns the first bytes as a T. @throws RunError when `bytes` is shorter than T.
  template <typename T>
  static T read_struct(std::span<const std::byte> bytes, const std::string& what) {
    static_assert(std::is_trivially_copyable_v<T>);
    require(bytes.size(), sizeof(T), what);
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

 private:
  static void require(std::size_t found, std::size_t needed, const std::string& what);

  std::string what_;
  std::map<std::uint16_t, std::span<const std::byte>> attributes_;
};

}  // namespace thinpipe
