// What compressors kept, as a page or as Markdown: findings, figures, tables.
#include <algorithm>
#include <cmath>

#include "reports/html/parts.h"
#include "reports/kept/figures.h"
#include "reports/kept/kept.h"
#include "reports/markdown/parts.h"
#include "reports/tables/table.h"
#include "reports/text/escape.h"
#include "reports/text/provenance.h"
#include "reports/text/units.h"

namespace thinpipe {
namespace {

constexpr const char* kKeptHeadline = "What compressors keep of these gradients";

TableCell kept_cell(double value, std::string (*format)(double) = format_number) {
  if (!std::isfinite(value)) return {kAbsent};
  return {format(value), "", value};
}

Table kept_table(const std::vector<KeptRow>& rows, bool tensors) {
  Table table{{"compressor", "sent over asked", "p5", "p50", "p95", "max", "bytes",
               "bits / element", "error", "cosine", "drift", "of the true top-k", "passes"},
              1,
              {}};
  if (tensors) {
    table.columns.insert(table.columns.begin() + 1, "tensor");
    table.text_columns = 2;
  }
  for (const KeptRow& row : rows) {
    TableCell quality{kAbsent};
    if (row.quality) quality = kept_cell(row.quality->mean);
    if (row.quality && row.quality->interval)
      quality.detail = "\xc2\xb1 " + format_number(row.quality->interval->high - row.quality->mean);
    std::vector<TableCell> cells = {{row.spec}};
    if (tensors) cells.push_back({row.tensor});
    cells.insert(cells.end(),
                 {quality, kept_cell(row.p5), kept_cell(row.p50), kept_cell(row.p95),
                  kept_cell(row.most), kept_cell(row.bytes, format_bytes), kept_cell(row.bits),
                  kept_cell(row.error, format_percent), kept_cell(row.cosine), kept_cell(row.drift),
                  kept_cell(row.overlap, format_percent), kept_cell(row.passes)});
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// By how much k-hat / k misses 1, either way.
double miss(const KeptRow& row) { return std::fabs(std::log(row.quality->mean)); }

// Less is not seen in three digits.
constexpr double kNoMiss = 0.005;

std::vector<std::string> kept_notes() {
  return {
      "Sent over asked: of each step the elements sent over those asked for, all tensors and ranks "
      "together; the mean over the steps, with the 90 % interval of that mean by Student's t, as "
      "SIDCo's figures have it. Steps are taken as independent, which with error feedback they are "
      "not quite.",
      "p5, p50, p95, max: of the same for every tensor, step and rank by itself, each counting "
      "alike.",
      "Error and cosine: of what is decoded and of the gradient plus memory, means over steps and "
      "ranks. Drift: after the last step, mean over ranks."};
}

}  // namespace

std::vector<std::string> kept_findings(const KeptSummary& summary) {
  std::vector<std::string> sentences;
  std::vector<const KeptRow*> estimated;
  for (const KeptRow& row : summary.totals)
    if (row.quality && row.quality->mean > 0) estimated.push_back(&row);
  const auto told = [](const KeptRow& row) {
    return row.spec + " sends " + format_number(row.quality->mean) +
           " times the elements that it is asked for" +
           (row.quality->interval ? " (90 % interval " + format_number(row.quality->interval->low) +
                                        " to " + format_number(row.quality->interval->high) + ")"
                                  : "");
  };
  const auto nearer = [](const KeptRow* a, const KeptRow* b) { return miss(*a) < miss(*b); };
  if (!estimated.empty()) {
    const auto [best, worst] = std::minmax_element(estimated.begin(), estimated.end(), nearer);
    if (miss(**worst) < kNoMiss) {
      sentences.push_back(estimated.size() > 1
                              ? "All send as many elements as they are asked for."
                              : (*worst)->spec + " sends as many elements as it is asked for.");
    } else {
      sentences.push_back(told(**worst) + (estimated.size() > 1 ? ", the farthest off." : "."));
      if (miss(**best) < miss(**worst)) sentences.push_back(told(**best) + ", the nearest.");
    }
  }
  const auto least_error = std::min_element(
      summary.totals.begin(), summary.totals.end(), [](const KeptRow& a, const KeptRow& b) {
        return (a.bits < 32 ? a.error : INFINITY) < (b.bits < 32 ? b.error : INFINITY);
      });
  if (least_error->bits < 32 && std::isfinite(least_error->error))
    sentences.push_back("Of those that compress, " + least_error->spec +
                        " is nearest to its input: an error of " +
                        format_percent(least_error->error) + " of the input's norm at " +
                        format_number(least_error->bits) + " bits an element.");
  return sentences;
}

std::string render_kept_html(const Records& records) {
  const KeptSummary summary = summarize_kept(records);
  std::string page =
      "<header>\n<p class=\"kicker\">thinpipe report</p>\n<h1>" + std::string(kKeptHeadline) +
      "</h1>\n<p class=\"facts\">" + escape_html(trace_line(records)) + " &middot; " +
      escape_html(records.headers.back().created) + "</p>\n</header>\n" +
      "<section class=\"verdict\" aria-labelledby=\"found\">\n<h2 id=\"found\">What was "
      "found</h2>\n" +
      html::list(kept_findings(summary)) + "</section>\n";
  const std::vector<Figure> figures = kept_figures(summary);
  if (!figures.empty()) {
    page +=
        "<section aria-labelledby=\"drawn\">\n<h2 id=\"drawn\">Figures</h2>\n<div "
        "class=\"figures\">\n";
    for (const Figure& figure : figures) page += html::figure(figure, reproduce_commands(records));
    page += "</div>\n</section>\n";
  }
  page += "<section aria-labelledby=\"all\">\n<h2 id=\"all\">All tensors together</h2>\n" +
          html::table(kept_table(summary.totals, false), "All tensors together", true) +
          "</section>\n<section aria-labelledby=\"tensors\">\n<h2 id=\"tensors\">Every "
          "tensor</h2>\n" +
          html::table(kept_table(summary.tensors, true), "Every tensor", true) +
          "</section>\n<section aria-labelledby=\"method\">\n<h2 id=\"method\">How it was "
          "computed</h2>\n" +
          html::list(kept_notes()) +
          "</section>\n<section aria-labelledby=\"origin\">\n<h2 id=\"origin\">Where it comes "
          "from</h2>\n" +
          html::provenance(records) + "</section>\n";
  return html::document("Quality \xe2\x80\x93 thinpipe report", page);
}

std::string render_kept_markdown(const Records& records) {
  const KeptSummary summary = summarize_kept(records);
  return "# " + std::string(kKeptHeadline) + "\n\n" + escape_markdown(trace_line(records)) +
         "\n\n## What was found\n\n" + markdown::bullets(kept_findings(summary)) +
         "## All tensors together\n\n" + markdown::table(kept_table(summary.totals, false)) +
         "## Every tensor\n\n" + markdown::table(kept_table(summary.tensors, true)) +
         "## How it was computed\n\n" + markdown::bullets(kept_notes()) +
         "## How to reproduce\n\n" + markdown::code_block(reproduce_commands(records)) +
         "## Where it comes from\n\n" + markdown::provenance(records);
}

}  // namespace thinpipe
