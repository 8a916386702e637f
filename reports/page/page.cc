// The building blocks of Markdown reports, and reports in either format.
#include "reports/page/page.h"

#include <utility>

#include "base/escape.h"
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

namespace thinpipe {

ReportWriter::ReportWriter(ReportFormat format, ReportHead head)
    : format_(format), commands_(std::move(head.commands)) {
  if (is_page()) {
    std::string facts = escape_html(head.facts);
    if (head.created) facts += " &middot; " + escape_html(*head.created);
    text_ = html::masthead(head.headline, facts) + html::findings(head.findings);
  } else {
    text_ = "# " + head.headline + "\n\n" + escape_markdown(head.facts) + "\n\n";
    section("", "Findings", markdown::bullets(head.findings));
  }
}

void ReportWriter::figures(const std::string& id, const std::string& title,
                           const std::vector<Figure>& figures) {
  if (is_page()) section(id, title, html::figures(figures, commands_));
}

void ReportWriter::figures(const std::vector<Figure>& figures) {
  if (!figures.empty()) this->figures("drawn", "Figures", figures);
}

void ReportWriter::table(const std::string& id, const std::string& title, const Table& content,
                         bool is_sortable) {
  section(id, title,
          is_page() ? html::table(content, title, is_sortable) : markdown::table(content));
}

void ReportWriter::points(const std::string& title, Table content, const std::string& name,
                          const std::vector<std::string>& commands) {
  if (!is_page()) return section("", title, markdown::table(content));
  const std::string csv = html::csv(name, title + " (CSV)", table_csv(content));
  add_commands(content, commands);
  section("all", title, html::table(content, title, /*is_sortable=*/true) + csv);
}

void ReportWriter::tables(const std::string& id, const std::string& title,
                          const std::vector<std::pair<std::string, Table>>& tables) {
  std::string inside;
  for (const auto& [name, content] : tables) {
    if (is_page())
      inside += "<h3>" + escape_html(name) + "</h3>\n" +
                html::table(content, name, /*is_sortable=*/true);
    else
      section("", name, markdown::table(content));
  }
  if (is_page()) section(id, title, inside);
}

void ReportWriter::notes(const Records& records) {
  if (!records.notes.empty()) list("notes", "Notes on the records file", records.notes);
}

std::string ReportWriter::finish(const std::string& name, const std::vector<std::string>& method,
                                 const Records* origin) {
  list("method", "How it was computed", method);
  if (!is_page()) section("", "How to reproduce", markdown::code_block(commands_));
  if (origin != nullptr)
    section("origin", "Provenance",
            is_page() ? html::provenance(*origin) : markdown::provenance(*origin));
  return is_page() ? html::document(name + " \xe2\x80\x93 thinpipe report", text_) : text_;
}

void ReportWriter::section(const std::string& id, const std::string& title,
                           const std::string& inside) {
  text_ += is_page() ? html::section(id, title, inside) : "## " + title + "\n\n" + inside;
}

void ReportWriter::list(const std::string& id, const std::string& title,
                        const std::vector<std::string>& lines) {
  section(id, title, is_page() ? html::list(lines) : markdown::bullets(lines));
}

}  // namespace thinpipe
