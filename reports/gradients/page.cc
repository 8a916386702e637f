// Statistics of gradients as a page or as Markdown: findings first, then figures and tables.
#include <cmath>
#include <utility>

#include "base/escape.h"
#include "base/text.h"
#include "reports/gradients/summary.h"
#include "reports/page/page.h"
#include "reports/page/table.h"
#include "reports/text/phrases.h"

namespace thinpipe {
namespace {

std::string whole(double value) { return std::to_string(std::llround(value)); }

// Lists elements, zeros and moments of each tensor.
Table stats_moments_table(const StatsSummary& summary) {
  Table table{{"tensor", "elements", "zeros", "mean |g|", "deviation", "excess kurtosis"}};
  for (const StatsUnit& unit : summary.units) {
    const StatsMeans& all = unit.plain.all;
    table.rows.push_back({{unit.title},
                          figure_cell(unit.elements, whole),
                          figure_cell(all.zero_share, format_percent),
                          figure_cell(all.mean_magnitude),
                          figure_cell(all.deviation),
                          figure_cell(all.kurtosis)});
  }
  return table;
}

// Returns a table with a row for each tensor: decay, best-k errors and the distances of the fitted
// distributions. The best fit is highlighted. `feedback` selects the gradients with or without
// error feedback; the table has no rows if these were not analysed.
Table stats_fits_table(const StatsSummary& summary, bool feedback) {
  Table table{{"tensor", "p", "R\xc2\xb2"}};
  for (const double ratio : summary.records->ratios)
    table.columns.push_back("error at " + format_percent(ratio));
  for (const char* name : kFitNames) table.columns.emplace_back(name);
  for (const StatsUnit& unit : summary.units) {
    const StatsSeries& series = feedback ? unit.feedback : unit.plain;
    if (series.empty()) continue;
    std::vector<TableCell> row = {
        {unit.title}, figure_cell(series.all.p), figure_cell(series.all.r_squared)};
    for (const double error : series.all.best_k_errors) row.push_back(figure_cell(error));
    for (const double distance : series.all.distances) row.push_back(figure_cell(distance));
    const std::size_t best = series.all.best_fit();
    if (best < kFitNames.size()) row[row.size() - kFitNames.size() + best].is_best = true;
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Lists cosines and common positions; without rows where nothing was compared.
Table stats_alike_table(const StatsSummary& summary) {
  const std::string top = "top " + format_percent(summary.records->overlap_ratio) + " in common";
  Table table{{"tensor", "workers: cosine", top, "steps: cosine", top}};
  for (const StatsUnit& unit : summary.units) {
    if (unit.workers.steps.empty() && unit.steps.steps.empty()) continue;
    table.rows.push_back({{unit.title},
                          figure_cell(unit.workers.all.cosine),
                          figure_cell(unit.workers.all.overlap),
                          figure_cell(unit.steps.all.cosine),
                          figure_cell(unit.steps.all.overlap)});
  }
  return table;
}

constexpr const char* kGradientsHeadline = "Distribution of these gradients";

/// Returns the tables that have rows, with their titles.
std::vector<std::pair<std::string, Table>> tables_of(const StatsSummary& summary) {
  std::vector<std::pair<std::string, Table>> tables;
  const auto add = [&](const std::string& title, Table table) {
    if (!table.rows.empty()) tables.emplace_back(title, std::move(table));
  };
  add("Decay, best-k error and distances of the fits", stats_fits_table(summary, false));
  add("The same with error feedback", stats_fits_table(summary, true));
  add("Similarity of workers and of steps", stats_alike_table(summary));
  add("Moments", stats_moments_table(summary));
  return tables;
}

/// Returns the command that made the records, then the command that makes the page.
std::vector<std::string> commands_of(const StatsRecords& records) {
  return {shell_quoted(records.origin.headers.back().command),
          shell_quoted({"thinpipe", "report", records.origin.file.string()})};
}

}  // namespace

std::string render_stats_html(const StatsRecords& records) {
  const StatsSummary summary = summarize(records);
  std::string page =
      html::masthead(kGradientsHeadline, escape_html(stats_subject(summary)) + " &middot; " +
                                             escape_html(records.origin.headers.back().created)) +
      html::findings(stats_findings(summary));
  if (const std::vector<Figure> figures = stats_figures(summary); !figures.empty())
    page += html::section("drawn", "Figures", html::figures(figures, commands_of(records)));
  std::string tables;
  for (const auto& [title, table] : tables_of(summary))
    tables +=
        "<h3>" + escape_html(title) + "</h3>\n" + html::table(table, title, /*is_sortable=*/true);
  page += html::section("tables", "Every tensor", tables) +
          html::section("method", "How it was computed", html::list(stats_method_notes(summary))) +
          html::section("origin", "Provenance", html::provenance(records.origin));
  return html::document("Gradients \xe2\x80\x93 thinpipe report", page);
}

std::string render_stats_markdown(const StatsRecords& records) {
  const StatsSummary summary = summarize(records);
  std::string text = "# " + std::string(kGradientsHeadline) + "\n\n" +
                     escape_markdown(stats_subject(summary)) + "\n\n## Findings\n\n" +
                     markdown::bullets(stats_findings(summary));
  for (const auto& [title, table] : tables_of(summary))
    text += "## " + escape_markdown(title) + "\n\n" + markdown::table(table);
  return text + "## How it was computed\n\n" + markdown::bullets(stats_method_notes(summary)) +
         "## How to reproduce\n\n" + markdown::code_block(commands_of(records)) +
         "## Provenance\n\n" + markdown::provenance(records.origin);
}

}  // namespace thinpipe
