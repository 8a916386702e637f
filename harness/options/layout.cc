// Wrapping text to the width of a terminal.
#include "harness/options/layout.h"

#include <sstream>

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
