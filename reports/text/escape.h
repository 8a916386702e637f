// Escaping: records are outside input, and their contents are text, never markup.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace thinpipe {

/// Escapes HTML and XML text and quoted attributes: & < > " ' become entities; control characters
/// other than tab and line end become U+FFFD.
std::string escape_html(std::string_view text);

/// Escapes one line of Markdown with embedded HTML: entities, and backslashes before punctuation
/// with a meaning. Line ends become spaces.
std::string escape_markdown(std::string_view text);

/// Escapes one cell of comma-separated values (RFC 4180): quotes it where a reader would split it.
std::string escape_csv(const std::string& text);

/// Replaces every `from`, which is not empty, by `to`.
inline void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t place = text.find(from); place != std::string::npos;
       place = text.find(from, place + to.size())) {
    text.replace(place, from.size(), to);
  }
}

}  // namespace thinpipe
