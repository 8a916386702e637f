// A table that fits a terminal.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/text.h"
#include "base/visible.h"

namespace thinpipe {

/// Returns the number of terminal columns that UTF-8 text takes: one for each character, none for
/// combining characters (U+0300 to U+036F, such as the hat of a k with a hat).
inline std::size_t text_columns(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const bool combines = byte == 0xcc || (byte == 0xcd && i + 1 < text.size() &&
                                           static_cast<unsigned char>(text[i + 1]) < 0xb0);
    if (!continues_character(text[i]) && !combines) ++columns;
  }
  return columns;
}

/// Breaks text into lines of at most 80 columns, after the characters `ends`. Indents all lines but
/// the first by `indent` columns. A longer word gets a line of its own. Adds a final newline.
inline std::string folded(const std::string& text, std::size_t indent, const char* ends = " ,") {
  constexpr std::size_t kMaxColumns = 80;
  const auto trimmed = [](const std::string& line) {
    return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  std::string result, line;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find_first_of(ends, start), text.size() - 1) + 1;
    const std::string word = text.substr(start, end - start);
    const std::size_t width = text_columns(word) - (word.back() == ' ' ? 1 : 0);
    if (text_columns(line) + width > kMaxColumns && text_columns(line) > indent) {
      result += trimmed(line);
      line = std::string(indent, ' ');
    }
    line += word;
    start = end;
  }
  return result + trimmed(line);
}

/// A table with names on the left and figures on the right, each column as wide as its widest cell.
/// If the table is too wide, names longer than the remaining width get lines of their own,
/// broken after commas and similar characters: nothing is cut off.
class PlainTable {
 public:
  /// @param heads  headings of the columns; '\n' separates the lines of a heading
  /// @param words  number of columns on the left that hold words, aligned to the left; all other
  /// columns hold figures
  explicit PlainTable(const std::vector<std::string>& heads, std::size_t words = 1)
      : words_(words) {
    std::size_t lines = 0;
    for (const std::string& head : heads) lines = std::max(lines, split(head, '\n').size());
    heads_.assign(lines, {});
    for (const std::string& head : heads) {
      const std::vector<std::string> parts = split(head, '\n');
      for (std::size_t i = 0; i < lines; ++i)
        heads_[i].push_back(i < parts.size() ? parts[i] : std::string());
    }
  }

  /// Adds a row, one cell for each column. Passes all cells through visible_line(), because they
  /// may hold text from outside.
  void add(std::vector<std::string> cells) {
    for (std::string& cell : cells) cell = visible_line(cell);
    rows_.push_back(std::move(cells));
  }
  bool empty() const { return rows_.empty(); }

  /// Returns the table, which ends with a newline. Only the figures can make it wider than
  /// `columns`.
  std::string text(std::size_t columns = 80) const {
    std::vector<std::size_t> widths(heads_.front().size(), 0);
    for (const auto* rows : {&heads_, &rows_})
      for (const auto& row : *rows)
        for (std::size_t i = 0; i < widths.size(); ++i)
          widths[i] = std::max(widths[i], text_columns(row[i]));
    std::size_t rest = 0;
    for (std::size_t i = 1; i < widths.size(); ++i) rest += widths[i];
    std::size_t gap = 2;
    if (widths[0] + rest + gap * (widths.size() - 1) > columns) gap = 1;
    rest += gap * (widths.size() - 1);
    const std::size_t least = text_columns(heads_.front()[0]);
    widths[0] = std::min(widths[0], std::max(least, columns > rest ? columns - rest : 0));
    std::string text;
    for (const auto& head : heads_) text += line(head, widths, gap, columns);
    for (const auto& row : rows_) text += line(row, widths, gap, columns);
    return text;
  }

 private:
  static std::string padded(const std::string& cell, std::size_t width, bool left) {
    const std::size_t taken = text_columns(cell);
    const std::string blanks(taken < width ? width - taken : 0, ' ');
    return left ? cell + blanks : blanks + cell;
  }

  // Returns a name on lines of its own, the later ones indented.
  static std::string folded(std::string_view name, std::size_t columns) {
    std::string text;
    std::size_t used = 0;
    for (std::size_t begin = 0; begin < name.size();) {
      std::size_t end = name.find_first_of(",;|/ ", begin);
      end = std::min(end == std::string_view::npos ? name.size() : end + 1,
                     begin + std::max<std::size_t>(columns, 8) - 4);
      const std::string_view part = name.substr(begin, end - begin);
      if (used > 0 && used + text_columns(part) > columns) {
        text += "\n    ";
        used = 4;
      }
      text += part;
      used += text_columns(part);
      begin = end;
    }
    return text + "\n";
  }

  std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                   std::size_t gap, std::size_t columns) const {
    const bool fits = text_columns(cells[0]) <= widths[0];
    std::string text = padded(fits ? cells[0] : std::string(), widths[0], true);
    for (std::size_t i = 1; i < cells.size(); ++i)
      text += std::string(gap, ' ') + padded(cells[i], widths[i], i < words_);
    text.erase(text.find_last_not_of(' ') + 1);
    return (fits ? "" : folded(cells[0], columns)) + text + "\n";
  }

  std::size_t words_;
  std::vector<std::vector<std::string>> heads_, rows_;
};

}  // namespace thinpipe
