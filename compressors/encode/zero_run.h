// Zero-run encoding of quartic bytes (3LC section 3.3).
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/both.h"

namespace thinpipe {

/// 2 to 14 bytes of 121 become one byte 243 + (n - 2).
constexpr std::uint8_t kFirstRunByte = 243;
constexpr std::size_t kLongestRun = 14;

/// Zeros that a byte >= kFirstRunByte stands for.
THINPIPE_BOTH constexpr std::size_t run_length(std::uint8_t byte) {
  return static_cast<std::size_t>(byte - kFirstRunByte) + 2;
}

/// Greedy from the left, longest runs first. `out` needs room for `count` bytes. @returns bytes
/// written.
std::size_t zero_run_encode(const std::uint8_t* packed, std::size_t count, std::uint8_t* out);

}  // namespace thinpipe
