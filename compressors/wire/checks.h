// Checks of input from outside: CRC-32C over bytes, UTF-8 in texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace thinpipe {

/// Returns CRC-32C (Castagnoli's polynomial 0x1edc6f41, reflected; start and end inverted; RFC 3720
/// appendix B.4). It detects every error of up to 5 bits in 655 bytes, of up to 3 bits in any file
/// of less than 256 MiB, and every burst of up to 32 bits (Koopman, 2002).
/// The code is thinpipe's own because no library that thinpipe links has it: libcrypto has no CRC,
/// and zlib, whose CRC-32 detects fewer errors at these lengths, would be one more dependency for
/// 30 lines.
/// @param before  the checksum of the preceding bytes; 0 at the start
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

/// Returns true for well-formed UTF-8 (RFC 3629): no overlong form, no surrogate, nothing above
/// U+10FFFF.
inline bool is_utf8(std::string_view text) {
  constexpr std::uint32_t kSmallest[] = {0, 0x80, 0x800, 0x10000};  // by following bytes
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i++]);
    if (first < 0x80) continue;
    if (first < 0xc0 || first >= 0xf8) return false;
    const std::size_t more = first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
    std::uint32_t code = first & (0x3fU >> more);
    if (text.size() - i < more) return false;
    for (std::size_t k = 0; k < more; ++k) {
      const auto next = static_cast<unsigned char>(text[i++]);
      if ((next & 0xc0) != 0x80) return false;
      code = code << 6 | (next & 0x3fU);
    }
    if (code < kSmallest[more] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) {
      return false;
    }
  }
  return true;
}

}  // namespace thinpipe
