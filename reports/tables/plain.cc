#include "reports/tables/plain.h"

#include <algorithm>
#include <utility>

#include "base/plain_table.h"

namespace thinpipe {

std::string plain_text(const Table& table) {
  PlainTable plain(table.columns, table.text_columns);
  for (const std::vector<TableCell>& row : table.rows) {
    std::vector<std::string> cells, beside(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      const TableCell& cell = row[i];
      const std::size_t end = table.beside.empty() ? std::string::npos : cell.text.find(kBeside);
      if (end != std::string::npos) beside[i] = cell.text.substr(end + kBeside.size());
      cells.push_back((cell.text == kAbsent ? "-" : cell.text.substr(0, end)) +
                      (cell.is_best ? "*" : "") + (cell.is_doubtful ? "?" : ""));
    }
    plain.add(std::move(cells));
    if (std::ranges::all_of(beside, &std::string::empty)) continue;
    beside[0] = "  " + table.beside;
    plain.add(std::move(beside));
  }
  return plain.text();
}

}  // namespace thinpipe
