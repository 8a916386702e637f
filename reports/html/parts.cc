// The pieces that the page is put together from.
#include "reports/html/parts.h"

#include <fmt/format.h>

#include "reports/figures/style.h"
#include "reports/text/escape.h"
#include "reports/text/provenance.h"

namespace thinpipe::html {
namespace {

std::string table_cell(const TableCell& cell, bool is_row_header, bool is_figure) {
  std::string classes = is_figure ? "figure" : "";
  if (cell.is_best) classes += " best";
  if (cell.is_doubtful) classes += " doubtful";
  const char* tag = is_row_header ? "th scope=\"row\"" : "td";
  std::string text = fmt::format("<{}", tag);
  if (!classes.empty()) text += " class=\"" + classes + "\"";
  if (cell.value) text += fmt::format(" data-value=\"{:.9g}\"", *cell.value);
  text += ">";
  if (cell.style) text += marker_svg(*cell.style);
  text += escape_html(cell.text);
  if (!cell.detail.empty())
    text += "<span class=\"detail\">" + escape_html(cell.detail) + "</span>";
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
  std::string text = "<h4>" + escape_html(title) + "</h4>\n<dl>";
  for (const auto& [name, value] : values) {
    text += "<div><dt>" + escape_html(name) + "</dt><dd>" + escape_html(value) + "</dd></div>\n";
  }
  return text + "</dl>\n";
}

}  // namespace

std::string head(const std::string& title) {
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
         "style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
         escape_html(title) + "</title>\n<style>\n" + style() + "</style>\n</head>\n";
}

std::string table(const Table& table, const std::string& label, bool is_sortable) {
  std::string text = fmt::format(
      "<div class=\"scroll\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n"
      "<table class=\"{}{}\">\n<thead><tr>",
      escape_html(label), is_sortable ? "sortable" : "plain",
      table.text_columns == table.columns.size() ? " words" : "");
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
          "<details><summary>How to reproduce</summary><pre><code>";
  for (const std::string& command : commands) text += escape_html(command) + "\n";
  return text + "</code></pre></details></figcaption>\n</figure>\n";
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
