// The pieces that the page is put together from.
#include "reports/html/parts.h"

#include <fmt/format.h>

#include "reports/figures/data.h"
#include "reports/figures/style.h"
#include "reports/text/escape.h"
#include "reports/text/lists.h"
#include "reports/text/provenance.h"

namespace thinpipe::html {
namespace {

std::string table_cell(const TableCell& cell, bool is_row_header, bool is_figure) {
  // What has a value is known for a figure by it: a class in thousands of cells would be heavy.
  std::string classes = is_figure && !cell.value ? "figure" : "";
  if (cell.is_best) classes += " best";
  if (cell.is_doubtful) classes += " doubtful";
  constexpr std::size_t kLongText = 48;  // would make a column of few letters
  if (cell.text.size() + cell.detail.size() > kLongText) classes += " long";
  const char* tag = is_row_header ? "th scope=\"row\"" : "td";
  std::string text = fmt::format("<{}", tag);
  if (!classes.empty()) text += " class=\"" + classes + "\"";
  if (cell.value) text += fmt::format(" data-value=\"{:.6g}\"", *cell.value);
  text += ">";
  if (cell.style) text += marker_svg(*cell.style);
  text += escape_html(cell.text);
  if (!cell.detail.empty())
    text += "<span class=\"detail\">" + escape_html(cell.detail) + "</span>";
  if (!cell.command.empty())
    text += "<details class=\"command\"><summary>command</summary><pre><code>" +
            escape_html(cell.command) + "</code></pre></details>";
  return text + (is_row_header ? "</th>" : "</td>");
}

std::string legend(const std::vector<LegendEntry>& entries) {
  std::string text = "<ul class=\"legend\">";
  for (const LegendEntry& entry : entries)
    text += "<li>" + entry.symbol + escape_html(entry.label) + "</li>";
  return text + "</ul>\n";
}

std::string named_values(const std::string& title, const NamedValues& values) {
  if (values.empty()) return "";
  std::string text = "<h3>" + escape_html(title) + "</h3>\n<dl>";
  for (const auto& [name, value] : values) {
    text += "<div><dt>" + escape_html(name) + "</dt><dd>" + escape_html(value) + "</dd></div>\n";
  }
  return text + "</dl>\n";
}

}  // namespace

std::string document(const std::string& title, const std::string& body) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
         "'unsafe-inline'; script-src 'unsafe-inline'\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
         escape_html(title) + "</title>\n<style>\n" + style() +
         "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#content\">Skip to the content</a>\n"
         "<main id=\"content\" tabindex=\"-1\">\n" +
         body + "</main>\n<script>\n" + script() + "</script>\n</body>\n</html>\n";
}

std::string contents(const std::vector<std::pair<std::string, std::string>>& sections) {
  std::string text = "<nav aria-label=\"Contents\"><ul>";
  for (const auto& [id, name] : sections)
    text += "<li><a href=\"#" + escape_html(id) + "\">" + escape_html(name) + "</a></li>";
  return text + "</ul></nav>\n";
}

std::string csv(const std::string& name, const std::string& summary, const std::string& text) {
  return fmt::format(
      "<details class=\"data\" data-name=\"{}\"><summary>{}</summary><pre "
      "tabindex=\"0\"><code>{}</code></pre></details>\n",
      escape_html(name), escape_html(summary), escape_html(text));
}

std::string table(const Table& table, const std::string& label, bool is_sortable) {
  std::vector<std::string> facets;
  for (const std::size_t column : table.facets) facets.push_back(std::to_string(column));
  std::string text = fmt::format(
      "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n"
      "<table class=\"{}{}\"{}>\n<thead><tr>",
      escape_html(label), is_sortable ? "sortable" : "plain",
      table.text_columns == table.columns.size() ? " words" : "",
      facets.empty() ? "" : " data-facets=\"" + joined(facets, " ") + "\"");
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    text += fmt::format("<th scope=\"col\"{}>{}</th>",
                        i < table.text_columns ? "" : " class=\"figure\"",
                        escape_html(table.columns[i]));
  }
  text += "</tr></thead>\n<tbody>\n";
  for (const std::vector<TableCell>& row : table.rows) {
    text += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i)
      text += table_cell(row[i], i == 0, i >= table.text_columns);
    text += "</tr>\n";
  }
  return text + "</tbody>\n</table>\n</div>\n";
}

std::string figure(const Figure& figure, const std::vector<std::string>& commands) {
  std::string text =
      fmt::format("<figure id=\"{}\" class=\"panels-{}\">\n<h3>{}</h3>\n", figure.id,
                  figure.panels.size() > 1 ? "many" : "one", escape_html(figure.title));
  text += legend(figure.legend) + "<div class=\"panels\">\n";
  for (const Panel& panel : figure.panels) {
    text += "<div class=\"panel\">";
    if (!panel.title.empty()) text += "<h4>" + escape_html(panel.title) + "</h4>";
    text += panel.svg + "</div>\n";
  }
  text += "</div>\n<figcaption>" + escape_html(figure.caption) +
          (figure.data.empty() ? ""
                               : csv(figure.id, "Data (CSV: " + joined(figure.axes, "; ") + ")",
                                     kFigureDataColumns + ("\n" + figure.data))) +
          "<details class=\"command\"><summary>How to reproduce</summary><pre><code>";
  for (const std::string& command : commands) text += escape_html(command) + "\n";
  return text + "</code></pre></details></figcaption>\n</figure>\n";
}

std::string figures(const std::vector<Figure>& figures, const std::vector<std::string>& commands) {
  std::string text = "<div class=\"figures\">\n";
  for (const Figure& one : figures) text += figure(one, commands);
  return text + "</div>\n";
}

std::string section(const std::string& id, const std::string& title, const std::string& inside) {
  return "<section aria-labelledby=\"" + id + "\">\n<h2 id=\"" + id + "\">" + escape_html(title) +
         "</h2>\n" + inside + "</section>\n";
}

std::string list(const std::vector<std::string>& lines) {
  std::string text = "<ul class=\"sentences\">\n";
  for (const std::string& line : lines) text += "<li>" + escape_html(line) + "</li>\n";
  return text + "</ul>\n";
}

std::string provenance(const Records& records) {
  std::string text;
  for (std::size_t i = 0; i < records.headers.size(); ++i) {
    const Header& header = records.headers[i];
    const bool is_last = i + 1 == records.headers.size();
    text += fmt::format("<details class=\"launch\"{}><summary>Launch {} of {}: {}</summary>\n",
                        is_last ? " open" : "", i + 1, records.headers.size(),
                        escape_html(header.created));
    text += "<pre><code>" + escape_html(shell_quoted(header.command)) + "</code></pre>\n";
    text += "<div class=\"columns\">\n<div>" +
            named_values("Machine and build", flattened(header.fingerprint)) + "</div>\n<div>";
    NamedValues trace = flattened(header.trace);
    trace.emplace_back("seed", std::to_string(header.seed));
    trace.emplace_back("threads", std::to_string(header.threads));
    if (!header.simd.empty()) trace.emplace_back("simd", header.simd);
    text += named_values("Trace", trace) + named_values("Calibration", calibration_values(header));
    text += "</div>\n</div>\n</details>\n";
  }
  return text;
}

}  // namespace thinpipe::html
