#include "reports/tables/plain.h"

#include <utility>

#include "base/plain_table.h"

namespace thinpipe {

std::string plain_text(const Table& table) {
  PlainTable plain(table.columns, table.text_columns);
  for (const std::vector<TableCell>& row : table.rows) {
    std::vector<std::string> cells;
    for (const TableCell& cell : row)
      cells.push_back((cell.text == kAbsent ? "-" : cell.text) + (cell.is_best ? "*" : "") +
                      (cell.is_doubtful ? "?" : ""));
    plain.add(std::move(cells));
  }
  return plain.text();
}

}  // namespace thinpipe
