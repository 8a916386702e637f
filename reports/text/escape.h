// Escaping: records are outside input, and what they say is text, never markup.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace thinpipe {

/// For HTML and XML text and quoted attributes: & < > " ' become entities, control characters but
/// tab and line end U+FFFD.
std::string escape_html(std::string_view text);

/// For one line of Markdown with embedded HTML: entities, backslashes before punctuation that has a
/// meaning, line ends become spaces.
std::string escape_markdown(std::string_view text);

/// One cell of comma-separated values (RFC 4180): quoted where a reader would take it apart.
std::string escape_csv(const std::string& text);

/// Every `from`, which is not empty, becomes `to`.
inline void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (std::size_t place = text.find(from); place != std::string::npos;
       place = text.find(from, place + to.size())) {
    text.replace(place, from.size(), to);
  }
}

}  // namespace thinpipe
