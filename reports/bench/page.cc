// How fast compressors are, as a page or as Markdown: findings, figures, a table.
#include <fmt/format.h>

#include <optional>

#include "base/units.h"
#include "reports/bench/bench.h"
#include "reports/bench/figures.h"
#include "reports/html/parts.h"
#include "reports/markdown/parts.h"
#include "reports/tables/table.h"
#include "reports/text/again.h"
#include "reports/text/escape.h"
#include "reports/text/lists.h"
#include "reports/text/provenance.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace {

constexpr const char* kBenchHeadline = "How fast compressors are on this machine";

TableCell bench_cell(const std::optional<Estimate>& estimate, std::string (*format)(double)) {
  if (!estimate) return {kAbsent};
  return {format(estimate->value),
          estimate->interval ? format_interval(*estimate, format) : std::string(), estimate->value};
}

TableCell bench_cell(const std::optional<double>& value, std::string (*format)(double)) {
  if (!value) return {kAbsent};
  return {format(*value), "", *value};
}

Table bench_table(const BenchSummary& summary) {
  Table table{{"compressor", "status", "input", "threads", "elements", "encode", "encode / read",
               "times Top-k", "decode", "bits / element", "error", "sent over asked", "passes"},
              3,
              {}};
  table.facets = {0, 1, 2, 3};
  for (const BenchSetting& setting : summary.settings) {
    for (const BenchLine& line : setting.lines) {
      const BenchSubject& subject = setting.subject;
      std::vector<TableCell> row = {
          {line.label, "", std::nullopt, line.style},
          {status_name(line.point->status), joined(line.point->reasons, "; ")},
          {subject.tensor, subject.simd},
          {std::to_string(subject.threads), "", static_cast<double>(subject.threads)},
          {fmt::format("{:.0f}", subject.elements), "", subject.elements},
          bench_cell(line.encode, format_time),
          bench_cell(line.encode_over, format_number),
          bench_cell(line.speedup, format_number),
          bench_cell(line.decode, format_time),
          bench_cell(line.bits, format_number),
          bench_cell(line.error, format_percent),
          bench_cell(line.quality, format_number),
          bench_cell(line.passes, format_number)};
      if (!line.is_trusted)
        for (TableCell& cell : row) cell.is_doubtful = true;
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

// Of the rows of bench_table().
std::vector<std::string> bench_commands(const BenchSummary& summary, const Records& records) {
  std::vector<std::string> commands;
  for (const BenchSetting& setting : summary.settings)
    for (const BenchLine& line : setting.lines)
      commands.push_back(again_command(records, *line.point));
  return commands;
}

std::vector<std::string> bench_notes() {
  return {
      "Times are medians over the repetitions, with exact 95 % intervals from order statistics; "
      "fewer than 6 repetitions give no interval. Repetitions of all compressors of a run were "
      "taken in random order.",
      "Times Top-k: the median encode time of Top-k with the same ratio and, where there is one, "
      "the same memory, over the compressor's; percentile interval of 2000 resamplings.",
      "Encode / read: over the time in which the same run read the input, by the best of 1, 2, 4 "
      "and 8 streams.",
      "Bits, error, sent over asked and passes are means over the steps before timing and depend "
      "on the seed alone. A compressor whose payloads or decoded values are not those of the "
      "plainest instruction set is failed: it has no times."};
}

std::string where_line(const Records& records) {
  std::string line = trace_line(records);
  if (line.empty()) line = std::to_string(records.points.size()) + " points";
  return line + (records.headers.empty() ? "" : ", " + records.headers.back().created);
}

}  // namespace

std::string render_bench_html(const Records& records) {
  const BenchSummary summary = summarize_bench(records);
  std::string page = "<header>\n<p class=\"kicker\">thinpipe report</p>\n<h1>" +
                     std::string(kBenchHeadline) + "</h1>\n<p class=\"facts\">" +
                     escape_html(where_line(records)) +
                     "</p>\n</header>\n<section class=\"verdict\" aria-labelledby=\"found\">\n<h2 "
                     "id=\"found\">What was found</h2>\n" +
                     html::list(bench_findings(summary)) + "</section>\n";
  if (const std::vector<Figure> figures = bench_figures(summary); !figures.empty())
    page += html::section("drawn", "Figures", html::figures(figures, reproduce_commands(records)));
  Table all = bench_table(summary);
  const std::string csv = html::csv("bench", "All points (CSV)", table_csv(all));
  add_commands(all, bench_commands(summary, records));
  page += html::section("all", "All points", html::table(all, "All points", true) + csv);
  if (!records.notes.empty())
    page += html::section("notes", "Notes on the records file", html::list(records.notes));
  page += html::section("method", "How it was computed", html::list(bench_notes())) +
          html::section("origin", "Where it was measured", html::provenance(records));
  return html::document("Bench \xe2\x80\x93 thinpipe report", page);
}

std::string render_bench_markdown(const Records& records) {
  const BenchSummary summary = summarize_bench(records);
  std::string text = "# " + std::string(kBenchHeadline) + "\n\n" +
                     escape_markdown(where_line(records)) + "\n\n## What was found\n\n" +
                     markdown::bullets(bench_findings(summary)) + "## All points\n\n" +
                     markdown::table(bench_table(summary));
  if (!records.notes.empty())
    text += "## Notes on the records file\n\n" + markdown::bullets(records.notes);
  return text + "## How it was computed\n\n" + markdown::bullets(bench_notes()) +
         "## How to reproduce\n\n" + markdown::code_block(reproduce_commands(records)) +
         "## Where it was measured\n\n" + markdown::provenance(records);
}

}  // namespace thinpipe
