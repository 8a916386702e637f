// A table as comma-separated values.
#include <fmt/format.h>

#include <algorithm>

#include "reports/tables/table.h"
#include "reports/text/escape.h"

namespace thinpipe {
namespace {

bool has_details(const Table& table, std::size_t column) {
  return std::any_of(table.rows.begin(), table.rows.end(),
                     [&](const auto& row) { return !row.at(column).detail.empty(); });
}

std::string csv_cell(const TableCell& cell) {
  if (!cell.command.empty()) return escape_csv(cell.command);
  if (cell.value) return fmt::format("{:.9g}", *cell.value);
  return cell.text == kAbsent ? "" : escape_csv(cell.text);
}

}  // namespace

std::string table_csv(const Table& table) {
  std::string text;
  std::vector<bool> detailed;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    detailed.push_back(has_details(table, i));
    text += (i == 0 ? "" : ",") + escape_csv(table.columns[i]);
    if (detailed.back()) text += "," + escape_csv(table.columns[i] + ", more");
  }
  text += "\n";
  for (const std::vector<TableCell>& row : table.rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      text += (i == 0 ? "" : ",") + csv_cell(row[i]);
      if (detailed[i]) text += "," + escape_csv(row[i].detail);
    }
    text += "\n";
  }
  return text;
}

}  // namespace thinpipe
