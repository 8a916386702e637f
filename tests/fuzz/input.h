// Helpers of all fuzz targets: taking apart the bytes they are given, and failing.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>

/// Called by libFuzzer and replay.cc. Returns 0; any error ends the program.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace thinpipe::fuzz {

/// Ends the program unless `good`: libFuzzer then keeps the input.
inline void require(bool good, const std::string& what) {
  if (good) return;
  std::fprintf(stderr, "failed: %s\n", what.c_str());
  std::abort();
}

/// Gives numbers and bytes off the front of an input; zeros once it has ended.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : bytes_(std::as_bytes(std::span(data, size))) {}

  template <class T>
  T get() {
    T value = 0;
    const std::span<const std::byte> bytes = take(sizeof value);
    if (!bytes.empty()) std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }
  /// Returns so many bytes, or fewer once the input has ended.
  std::span<const std::byte> take(std::size_t size) {
    const std::span<const std::byte> bytes = bytes_.first(std::min(size, bytes_.size()));
    bytes_ = bytes_.subspan(bytes.size());
    return bytes;
  }
  std::span<const std::byte> rest() const { return bytes_; }

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace thinpipe::fuzz
