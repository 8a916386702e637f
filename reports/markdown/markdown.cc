// The report as Markdown.
#include "reports/markdown/markdown.h"

#include "reports/summary/summary.h"
#include "reports/tables/table.h"
#include "reports/text/escape.h"
#include "reports/text/provenance.h"
#include "reports/verdict/verdict.h"

namespace thinpipe {
namespace {

std::string markdown_cell(const TableCell& cell) {
  std::string text = escape_markdown(cell.text);
  if (cell.is_best) text = "**" + text + "**";
  if (cell.is_doubtful) text = "*" + text + "*";
  if (!cell.detail.empty()) text += " (" + escape_markdown(cell.detail) + ")";
  return text;
}

std::string markdown_table(const Table& table) {
  std::string text = "|";
  for (const std::string& column : table.columns) text += " " + escape_markdown(column) + " |";
  text += "\n|";
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    text += i < table.text_columns ? " --- |" : " ---: |";
  }
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

// An indented block takes any text but line ends.
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
    Table table;
    table.columns = {"field", "value"};
    table.text_columns = 2;
    for (const NamedValues& part :
         {flattened(header.trace), flattened(header.fingerprint), calibration_values(header)}) {
      for (const auto& [name, value] : part) table.rows.push_back({{name}, {value}});
    }
    table.rows.push_back({{"seed"}, {std::to_string(header.seed)}});
    table.rows.push_back({{"threads"}, {std::to_string(header.threads)}});
    if (!header.simd.empty()) table.rows.push_back({{"simd"}, {header.simd}});
    text += markdown_table(table);
  }
  return text;
}

}  // namespace

std::string render_markdown(const Records& records) {
  const Summary summary = summarize(records);
  std::string text = "# thinpipe report\n\n" + escape_markdown(trace_line(records)) + "\n\n";
  text += "## What was found\n\n" + bullets(verdict(summary));
  for (const Group& group : summary.groups) {
    text += "## " + escape_markdown(group.title) + "\n\n";
    text += "Step time of none and speed-up over it (95 % intervals):\n\n" +
            markdown_table(overview_table(group));
    text += "All points:\n\n" + markdown_table(points_table(group));
  }
  const Table links = calibration_table(records), problems = problems_table(records);
  if (!links.rows.empty()) text += "## The links before they were used\n\n" + markdown_table(links);
  if (!problems.rows.empty()) text += "## Invalid and failed points\n\n" + markdown_table(problems);
  if (!records.notes.empty()) text += "## Notes on the records file\n\n" + bullets(records.notes);
  text += "## How it was computed\n\n" + bullets(method_notes());
  text += "## How to reproduce\n\n" + code_block(reproduce_commands(records));
  text += "## Where it was measured\n\n" + provenance(records);
  return text;
}

}  // namespace thinpipe
