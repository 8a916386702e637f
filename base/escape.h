// Escaping of text from outside for HTML and XML.
#pragma once

#include <string>
#include <string_view>

namespace thinpipe {

/// Stands for a character that a document must not have: U+FFFD in UTF-8.
inline constexpr std::string_view kReplacement = "\xef\xbf\xbd";

/// Returns true for control characters other than tab and line end.
inline bool is_control(char byte) {
  return (static_cast<unsigned char>(byte) < 0x20 && byte != '\t' && byte != '\n') || byte == 0x7f;
}

/// Escapes HTML and XML text and quoted attributes: & < > " ' become entities; control characters
/// other than tab and line end become U+FFFD.
inline std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char byte : text) {
    switch (byte) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        if (is_control(byte))
          escaped += kReplacement;
        else
          escaped += byte;
    }
  }
  return escaped;
}

}  // namespace thinpipe
