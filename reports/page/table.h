// A table, for HTML, Markdown, comma-separated values or a terminal.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/record/record.h"
#include "reports/text/phrases.h"

namespace thinpipe {

/// The text of a cell without a figure: an en dash.
inline constexpr const char* kAbsent = "\xe2\x80\x93";

/// The separator of two figures in a cell.
inline constexpr std::string_view kSecondFigure = " / ";

struct TableCell {
  std::string text{};                  ///< plain text
  std::string detail{};                ///< smaller text beside it, such as an interval
  std::optional<double> value{};       ///< sort key of the cell; `text` if unset
  std::optional<std::size_t> style{};  ///< style of the compressor's marker before the text
  bool is_best = false;
  bool is_untrusted = false;  ///< greyed
  std::string command{};      ///< to copy; in place of text
};

struct Table {
  std::vector<std::string> columns;
  std::size_t text_columns = 1;  ///< number of columns of text, at the left of those of figures
  std::vector<std::vector<TableCell>> rows{};
  std::vector<std::size_t> facets{};  ///< columns by whose values a reader may filter rows
  std::string beside{};               ///< heading of the figures after kSecondFigure; may be ""
};

/// Returns a cell with a figure, which is its sort key; kAbsent where it is not finite.
TableCell figure_cell(double value, std::string (*format)(double) = format_number);
/// Returns the same; kAbsent where there is no figure. An estimate's interval is the detail; where
/// it has none, the detail says so if `tells_missing`.
TableCell figure_cell(const std::optional<double>& value, std::string (*format)(double));
TableCell figure_cell(const std::optional<Estimate>& estimate, std::string (*format)(double),
                      bool tells_missing = true);

/// Returns a cell with a whole number.
TableCell count_cell(std::size_t count);

/// Returns the table as comma-separated values. A cell with a number gives the number in base
/// units; any other cell gives its text. The cells' details are in additional columns.
std::string table_csv(const Table& table);

/// Adds the command of every row as the table's last column, unless all are "".
void add_commands(Table& table, const std::vector<std::string>& commands);

/// Lists the failed and invalid points with their reasons.
Table problems_table(const Records& records);

/// Returns the table as text for a terminal, without details. The best cells are marked with `*`,
/// untrusted cells with `?`. If a cell has two numbers separated by kSecondFigure, the second is
/// printed on an additional line below. A table with more figures than fit 80 columns continues
/// below, with its columns of text again.
std::string plain_text(const Table& table);

}  // namespace thinpipe
