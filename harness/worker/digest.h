// A short text that is the same for arrays of the same bits.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <fmt/format.h>

namespace thinpipe {

/// FNV-1a over the bits of floats that are added piece by piece.
class Digest {
 public:
  void add(std::span<const float> values) {
    for (const float value : values) {
      std::uint32_t bits;
      std::memcpy(&bits, &value, sizeof(bits));
      hash_ = (hash_ ^ bits) * 1099511628211ULL;
    }
  }
  std::string text() const { return fmt::format("{:016x}", hash_); }

 private:
  std::uint64_t hash_ = 14695981039346656037ULL;
};

}  // namespace thinpipe
