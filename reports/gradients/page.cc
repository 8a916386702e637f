// Statistics of gradients as a page or as Markdown: findings first, then figures and tables.
#include "reports/gradients/page.h"

#include <utility>
#include <vector>

#include "reports/gradients/figures.h"
#include "reports/gradients/findings.h"
#include "reports/gradients/tables.h"
#include "reports/html/parts.h"
#include "reports/markdown/parts.h"
#include "reports/text/escape.h"
#include "reports/text/provenance.h"

namespace thinpipe {
namespace {

constexpr const char* kGradientsHeadline = "How these gradients are distributed";

/// The tables that have rows, with their titles.
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

/// The command that made the records, then the one that makes the page.
std::vector<std::string> commands_of(const StatsRecords& records) {
  return {shell_quoted(records.origin.headers.back().command),
          shell_quoted({"thinpipe", "report", records.origin.file.string()})};
}

}  // namespace

std::string render_stats_html(const StatsRecords& records) {
  const StatsSummary summary = summarize(records);
  std::string page = "<header>\n<p class=\"kicker\">thinpipe report</p>\n<h1>" +
                     std::string(kGradientsHeadline) + "</h1>\n<p class=\"facts\">" +
                     escape_html(stats_subject(summary)) + " &middot; " +
                     escape_html(records.origin.headers.back().created) + "</p>\n</header>\n";
  page +=
      "<section class=\"verdict\" aria-labelledby=\"found\">\n<h2 id=\"found\">What was "
      "found</h2>\n" +
      html::list(stats_findings(summary)) + "</section>\n";
  const std::vector<Figure> figures = stats_figures(summary);
  if (!figures.empty()) {
    page +=
        "<section aria-labelledby=\"drawn\">\n<h2 id=\"drawn\">Figures</h2>\n<div "
        "class=\"figures\">\n";
    for (const Figure& figure : figures) page += html::figure(figure, commands_of(records));
    page += "</div>\n</section>\n";
  }
  page += "<section aria-labelledby=\"tables\">\n<h2 id=\"tables\">Every tensor</h2>\n";
  for (const auto& [title, table] : tables_of(summary)) {
    page +=
        "<h3>" + escape_html(title) + "</h3>\n" + html::table(table, title, /*is_sortable=*/true);
  }
  page +=
      "</section>\n<section aria-labelledby=\"method\">\n<h2 id=\"method\">How it was "
      "computed</h2>\n" +
      html::list(stats_method_notes(summary)) +
      "</section>\n<section aria-labelledby=\"origin\">\n<h2 id=\"origin\">Where it comes "
      "from</h2>\n" +
      html::provenance(records.origin) + "</section>\n";
  return html::document("Gradients \xe2\x80\x93 thinpipe report", page);
}

std::string render_stats_markdown(const StatsRecords& records) {
  const StatsSummary summary = summarize(records);
  std::string text = "# " + std::string(kGradientsHeadline) + "\n\n" +
                     escape_markdown(stats_subject(summary)) + "\n\n## What was found\n\n" +
                     markdown::bullets(stats_findings(summary));
  for (const auto& [title, table] : tables_of(summary))
    text += "## " + escape_markdown(title) + "\n\n" + markdown::table(table);
  return text + "## How it was computed\n\n" + markdown::bullets(stats_method_notes(summary)) +
         "## How to reproduce\n\n" + markdown::code_block(commands_of(records)) +
         "## Where it comes from\n\n" + markdown::provenance(records.origin);
}

}  // namespace thinpipe
