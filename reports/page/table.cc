// Tables as comma-separated values and as text; tables that several reports share.
#include "reports/page/table.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/plain_table.h"
#include "reports/text/phrases.h"

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

using PlainRows = std::vector<std::vector<std::string>>;

// Returns the cells of plain_text().
PlainRows plain_rows(const Table& table) {
  PlainRows rows;
  for (const std::vector<TableCell>& row : table.rows) {
    std::vector<std::string> cells, beside(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      const TableCell& cell = row[i];
      const std::size_t end =
          table.beside.empty() ? std::string::npos : cell.text.find(kSecondFigure);
      if (end != std::string::npos) beside[i] = cell.text.substr(end + kSecondFigure.size());
      cells.push_back((cell.text == kAbsent ? "-" : cell.text.substr(0, end)) +
                      (cell.is_best ? "*" : "") + (cell.is_untrusted ? "?" : ""));
    }
    rows.push_back(std::move(cells));
    if (std::ranges::all_of(beside, &std::string::empty)) continue;
    beside[0] = "  " + table.beside;
    rows.push_back(std::move(beside));
  }
  return rows;
}

constexpr std::size_t kTerminalColumns = 80;

// Returns the columns of text, and those of figures from `begin` to before `end`. Leaves out rows
// without any of these figures.
std::string plain_block(const Table& table, const PlainRows& rows, std::size_t begin,
                        std::size_t end) {
  const auto chosen = [&](const std::vector<std::string>& all) {
    std::vector<std::string> some;
    for (std::size_t i = 0; i < end; ++i)
      if (i < table.text_columns || i >= begin) some.push_back(all[i]);
    return some;
  };
  PlainTable plain(chosen(table.columns), table.text_columns);
  for (const std::vector<std::string>& row : rows) {
    bool is_empty = begin < end;
    for (std::size_t i = begin; i < end; ++i) is_empty = is_empty && row[i].empty();
    if (!is_empty) plain.add(chosen(row));
  }
  return plain.text();
}

}  // namespace

TableCell figure_cell(double value, std::string (*format)(double)) {
  if (!std::isfinite(value)) return {kAbsent};
  return {format(value), "", value};
}

TableCell figure_cell(const std::optional<double>& value, std::string (*format)(double)) {
  if (!value) return {kAbsent};
  return {format(*value), "", *value};
}

TableCell figure_cell(const std::optional<Estimate>& estimate, std::string (*format)(double),
                      bool tells_missing) {
  if (!estimate) return {kAbsent};
  const bool has_detail = estimate->interval || tells_missing;
  return {format(estimate->value), has_detail ? format_interval(*estimate, format) : "",
          estimate->value};
}

TableCell count_cell(std::size_t count) {
  return {std::to_string(count), "", static_cast<double>(count)};
}

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

std::string plain_text(const Table& table) {
  const PlainRows rows = plain_rows(table);
  const std::size_t words = table.text_columns, all = table.columns.size();
  const auto width = [&](std::size_t column) {
    std::size_t most = text_columns(table.columns[column]);
    for (const std::vector<std::string>& row : rows)
      most = std::max(most, text_columns(row[column]));
    return most;
  };
  const auto width_of = [&](std::size_t begin, std::size_t end, std::size_t gap) {
    std::size_t sum = 0;
    for (std::size_t i = begin; i < end; ++i) sum += width(i) + gap;
    return sum;
  };
  // PlainTable gives long names lines of their own, so only figures can make it too wide.
  if (words == all || text_columns(table.columns[0]) + width_of(1, all, 1) <= kTerminalColumns)
    return plain_block(table, rows, words, all);
  constexpr std::size_t kLongName = 26, kGap = 2;
  const std::size_t names = std::min(width(0), kLongName) + width_of(1, words, kGap);
  std::string text;
  for (std::size_t begin = words, end = words; begin < all; begin = end) {
    ++end;
    while (end < all && names + width_of(begin, end + 1, kGap) <= kTerminalColumns) ++end;
    text += (begin == words ? "" : "\n") + plain_block(table, rows, begin, end);
  }
  return text;
}

void add_commands(Table& table, const std::vector<std::string>& commands) {
  if (std::ranges::all_of(commands, &std::string::empty)) return;
  table.columns.emplace_back("measure again");
  for (std::size_t i = 0; i < table.rows.size(); ++i)
    table.rows[i].push_back({.text = commands[i].empty() ? kAbsent : "", .command = commands[i]});
}

Table problems_table(const Records& records) {
  Table table{{"point", "status", "reasons"}, 3};
  for (const Point& point : records.points) {
    if (point.status == Status::kOk) continue;
    const std::string reasons = joined(point.reasons, "; ");
    table.rows.push_back({{point.id},
                          {status_name(point.status)},
                          {reasons.empty() ? "no reason was recorded" : reasons}});
  }
  return table;
}

}  // namespace thinpipe
