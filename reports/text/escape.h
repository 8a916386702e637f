// Records are outside input: whatever they say is text, never markup.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {

/// For HTML and XML text and quoted attributes: & < > " ' become entities, control characters but
/// tab and line end U+FFFD.
std::string escape_html(std::string_view text);

/// For one line of Markdown with embedded HTML: entities, backslashes before punctuation that has a
/// meaning, line ends become spaces.
std::string escape_markdown(std::string_view text);

/// One cell of comma-separated values (RFC 4180): quoted where a reader would take it apart.
std::string escape_csv(const std::string& text);

/// A command line that a POSIX shell reads back as these arguments.
std::string shell_quoted(const std::vector<std::string>& arguments);

}  // namespace thinpipe
