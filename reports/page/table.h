// A table before it becomes HTML, Markdown, comma-separated values or text for a terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/record/record.h"
#include "reports/text/phrases.h"

namespace thinpipe {

/// Where there is no figure: an en dash.
inline constexpr const char* kAbsent = "\xe2\x80\x93";

/// Between two figures of a cell.
inline constexpr std::string_view kSecondFigure = " / ";

struct TableCell {
  std::string text{};                  ///< plain text
  std::string detail{};                ///< set smaller beside it: an interval
  std::optional<double> value{};       ///< what the column is sorted by; else by `text`
  std::optional<std::size_t> style{};  ///< the compressor's marker goes before the text
  bool is_best = false;
  bool is_doubtful = false;  ///< not to be trusted: greyed
  std::string command{};     ///< to copy; in place of text
};

struct Table {
  std::vector<std::string> columns;
  std::size_t text_columns = 1;  ///< how many from the left hold words; the rest holds figures
  std::vector<std::vector<TableCell>> rows;
  std::vector<std::size_t> facets{};  ///< columns by whose values a reader may choose rows
  std::string beside{};               ///< what figures behind a kSecondFigure are; "" without any
};

/// A figure by which a column is sorted; kAbsent where it is not finite.
TableCell figure_cell(double value, std::string (*format)(double) = format_number);

/// The table as comma-separated values: numbers as they are, in base units, else the text; what is
/// set smaller beside them in a column of its own.
std::string table_csv(const Table& table);

/// The command of every row as the table's last column, unless none is known ("").
void add_commands(Table& table, const std::vector<std::string>& commands);

/// The failed and invalid points with their reasons.
Table problems_table(const Records& records);

/// The cells' texts without what is set smaller beside them; what is best has a `*` behind it, what
/// is doubtful a `?`. A figure behind a kSecondFigure has a line of its own.
std::string plain_text(const Table& table);

}  // namespace thinpipe
