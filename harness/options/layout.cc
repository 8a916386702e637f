// Wrapping text to the width of a terminal.
#include "harness/options/layout.h"

#include <sstream>

#include "base/plain_table.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/visible.h"

namespace thinpipe {

std::string wrap(std::string_view text, std::size_t indent, std::size_t columns,
                 bool first_indent) {
  const std::string margin(indent, ' ');
  std::string out = first_indent ? margin : "";
  std::istringstream lines{std::string(text)};
  std::string line;
  std::size_t column = indent;
  bool fresh = true;
  while (std::getline(lines, line)) {
    if (line.empty()) {
      out += "\n\n" + margin;
      column = indent;
      fresh = true;
      continue;
    }
    std::istringstream words{line};
    for (std::string word; words >> word;) {
      if (!fresh && column + 1 + word.size() > columns) {
        out += "\n" + margin;
        column = indent;
        fresh = true;
      }
      if (!fresh) out += ' ', ++column;
      out += word;
      column += word.size();
      fresh = false;
    }
  }
  return out;
}

std::string for_stream(int descriptor, std::string_view text) {
  const std::string line = visible_text(text);
  const std::size_t columns = columns_of_terminal(descriptor);
  constexpr std::size_t kIndent = 2;
  if (columns <= 2 * kIndent || text_columns(line) <= columns) return line;
  std::string words;
  for (const std::string& word : split(line, ' ')) {
    std::size_t used = 0;
    for (const char c : word) {
      words += c;
      // A word that a line cannot hold: behind the next comma, or where the line ends.
      if (++used + kIndent >= columns || (c == ',' && word.size() + kIndent > columns)) {
        words += ' ';
        used = 0;
      }
    }
    words += ' ';
  }
  return wrap(words, kIndent, columns, false);
}

std::string two_columns(std::string_view left, std::string_view right, std::size_t start,
                        std::size_t columns) {
  std::string out = "  " + std::string(left);
  if (right.empty()) return out + "\n";
  if (out.size() + 2 > start) {
    out += "\n" + std::string(start, ' ');
  } else {
    out.append(start - out.size(), ' ');
  }
  return out + wrap(right, start, columns, false) + "\n";
}

}  // namespace thinpipe
