// A short text that is equal for arrays of equal bits.
#pragma once

#include <array>
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <span>
#include <string>

namespace thinpipe {

/// Computes FNV-1a over the bits of floats that are added chunk by chunk.
class Digest {
 public:
  void add(std::span<const float> values) {
    for (const float value : values) {
      std::uint32_t bits;
      std::memcpy(&bits, &value, sizeof(bits));
      hash_ = (hash_ ^ bits) * 1099511628211ULL;
    }
  }
  /// Adds bytes one by one. The hash of an array of floats that is added as bytes differs from its
  /// hash when it is added as floats.
  void add(std::span<const std::byte> bytes) {
    for (const std::byte byte : bytes) {
      hash_ = (hash_ ^ static_cast<std::uint64_t>(byte)) * 1099511628211ULL;
    }
  }
  std::uint64_t value() const { return hash_; }
  std::string text() const {
    std::array<char, 17> digits{};
    std::snprintf(digits.data(), digits.size(), "%016" PRIx64, hash_);
    return digits.data();
  }

 private:
  std::uint64_t hash_ = 14695981039346656037ULL;
};

}  // namespace thinpipe
