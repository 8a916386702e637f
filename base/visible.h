// Text from outside, made safe for a terminal.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace thinpipe {

namespace visible_detail {

struct Character {
  std::uint32_t code;
  std::size_t bytes;  ///< 0: not UTF-8
};

// Decodes the character at `place`. For a byte that is not UTF-8, the code is the byte and the
// length is 0. All characters of four bytes give the same code, 0x10000, because a terminal obeys
// none of them.
inline Character character_at(std::string_view text, std::size_t place) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return place + i < text.size() ? static_cast<unsigned char>(text[place + i]) : 0;
  };
  const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80; };
  if (byte(0) < 0x80) return {byte(0), 1};
  if (byte(0) >= 0xc2 && byte(0) < 0xe0 && follows(1))
    return {(byte(0) & 0x1fU) << 6 | (byte(1) & 0x3fU), 2};
  if ((byte(0) & 0xf0U) == 0xe0 && follows(1) && follows(2))
    return {(byte(0) & 0x0fU) << 12 | (byte(1) & 0x3fU) << 6 | (byte(2) & 0x3fU), 3};
  if (byte(0) >= 0xf0 && byte(0) < 0xf5 && follows(1) && follows(2) && follows(3))
    return {0x10000, 4};
  return {byte(0), 0};
}

// Returns true for characters that move the cursor, command the terminal or change the reading
// order: C0, DEL and C1 (ECMA-48), line separators, and the marks of Unicode's bidirectional
// algorithm (UAX #9).
inline bool is_obeyed(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

inline std::string escaped(std::string_view text, bool is_one_line) {
  std::string shown;
  shown.reserve(text.size());
  for (std::size_t place = 0; place < text.size();) {
    const auto [code, bytes] = character_at(text, place);
    const std::size_t length = bytes == 0 ? 1 : bytes;
    // A stray byte of C1 is obeyed by a terminal that does not read UTF-8.
    if (!is_obeyed(code) || (!is_one_line && (code == '\n' || code == '\t'))) {
      shown += text.substr(place, length);
    } else {
      std::array<char, 16> digits{};
      const bool is_byte = code < 0x20 || bytes == 0;
      std::snprintf(digits.data(), digits.size(), is_byte ? "\\x%02x" : "\\u%04x", code);
      shown += digits.data();
    }
    place += length;
  }
  return shown;
}

}  // namespace visible_detail

/// Returns text of one or more lines in which characters that a terminal obeys are escaped, such as
/// "\x1b" or "\u202e". Newlines and tabs stay. Bytes that are not UTF-8 stay, except 0x80 to 0x9f.
/// Escaped JSON keeps its meaning: the characters to escape occur in JSON only from U+007F on and
/// within strings, where an escape like "\u202e" is valid.
inline std::string visible_text(std::string_view text) {
  return visible_detail::escaped(text, /*is_one_line=*/false);
}

/// Escapes as visible_text() does, for text that must stay on one line, such as a name in a table.
/// Newlines and tabs are escaped, too, as "\x0a" and "\x09".
inline std::string visible_line(std::string_view text) {
  return visible_detail::escaped(text, /*is_one_line=*/true);
}

/// Prints a message of one or more lines and a newline on standard error, through visible_text().
inline void print_message(std::string_view message) {
  const std::string shown = visible_text(message) + "\n";
  std::fwrite(shown.data(), 1, shown.size(), stderr);
}

}  // namespace thinpipe
