// The building blocks of Markdown reports.
#include "reports/page/page.h"

#include "reports/text/phrases.h"
#include "reports/text/provenance.h"

namespace thinpipe::markdown {
namespace {

std::string markdown_cell(const TableCell& cell) {
  std::string text = escape_markdown(cell.text);
  if (cell.is_best) text = "**" + text + "**";
  if (cell.is_untrusted) text = "*" + text + "*";
  if (!cell.detail.empty()) text += " (" + escape_markdown(cell.detail) + ")";
  return text;
}

}  // namespace

std::string table(const Table& table) {
  std::string text = "|";
  for (const std::string& column : table.columns) text += " " + escape_markdown(column) + " |";
  text += "\n|";
  for (std::size_t i = 0; i < table.columns.size(); ++i)
    text += i < table.text_columns ? " --- |" : " ---: |";
  text += "\n";
  for (const std::vector<TableCell>& row : table.rows) {
    text += "|";
    for (const TableCell& cell : row) text += " " + markdown_cell(cell) + " |";
    text += "\n";
  }
  return text + "\n";
}

std::string bullets(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += "- " + escape_markdown(line) + "\n";
  return text + "\n";
}

std::string code_block(const std::vector<std::string>& lines) {
  std::string text;
  for (std::string line : lines) {
    for (char& byte : line) byte = byte == '\n' || byte == '\r' ? ' ' : byte;
    text += "    " + line + "\n";
  }
  return text + "\n";
}

std::string provenance(const Records& records) {
  std::string text;
  for (std::size_t i = 0; i < records.headers.size(); ++i) {
    const Header& header = records.headers[i];
    text += "### Launch " + std::to_string(i + 1) + ", " + escape_markdown(header.created) + "\n\n";
    Table fields{.columns = {"field", "value"}, .text_columns = 2};
    for (const NamedValues& part :
         {flattened(header.trace), flattened(header.fingerprint), calibration_values(header)})
      for (const auto& [name, value] : part) fields.rows.push_back({{name}, {value}});
    fields.rows.push_back({{"seed"}, {std::to_string(header.seed)}});
    fields.rows.push_back({{"threads"}, {std::to_string(header.threads)}});
    if (!header.simd.empty()) fields.rows.push_back({{"simd"}, {header.simd}});
    text += table(fields);
  }
  return text;
}

}  // namespace thinpipe::markdown
