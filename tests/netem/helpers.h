// Helpers of netem's tests: bytes as expected layouts show them, mismatches as text, and
// expectations inside a sandbox.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "base/error.h"
#include "netem/link/qdisc.h"

namespace thinpipe {

/// Bytes as hexadecimal digits in words of four.
inline std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); ++i)
    text += fmt::format("{}{:02x}", i > 0 && i % 4 == 0 ? " " : "", static_cast<int>(bytes[i]));
  return text;
}

inline std::vector<std::byte> from_hex(std::string_view text) {
  std::vector<std::byte> bytes;
  std::string digits;
  for (const char digit : text)
    if (digit != ' ') digits += digit;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return bytes;
}

/// Settings of a qdisc that the kernel did not take as requested, a line each.
inline std::string settings_of(const std::vector<Mismatch>& mismatches) {
  std::string text;
  for (const Mismatch& mismatch : mismatches)
    text += fmt::format("{}: {} {}\n", mismatch.setting, mismatch.asked, mismatch.got);
  return text;
}

/// Expectations inside a sandbox are in another process: they are thrown, and set the exit code.
inline void require(bool condition, const std::string& what) {
  if (!condition) throw RunError("not so: " + what);
}

}  // namespace thinpipe
