// Escaping for Markdown and comma-separated values.
#include "base/escape.h"
#include "reports/text/phrases.h"

namespace thinpipe {

std::string escape_markdown(std::string_view text) {
  // Parentheses have a meaning only after brackets, which are escaped.
  constexpr std::string_view kPunctuation = "\\`*_[]#|~";
  std::string escaped;
  for (const char byte : text) {
    if (byte == '\n' || byte == '\t') {
      escaped += ' ';
    } else if (kPunctuation.find(byte) != std::string_view::npos ||
               (byte == '+' && escaped.empty())) {  // would begin a list
      escaped += '\\';
      escaped += byte;
    } else if (byte == '<' || byte == '>' || byte == '&') {
      escaped += escape_html(std::string_view(&byte, 1));
    } else if (is_control(byte)) {
      escaped += kReplacement;
    } else {
      escaped += byte;
    }
  }
  // Markdown readers turn a bare address into a link; reports have no links from records.
  replace_all(escaped, "://", "&#58;//");
  return escaped;
}

std::string escape_csv(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace thinpipe
