// Gradient statistics as figures, a page or Markdown.
#pragma once

#include <string>
#include <vector>

#include "reports/figures/figure.h"
#include "reports/gradients/records.h"
#include "reports/gradients/summary.h"
#include "reports/page/table.h"

namespace thinpipe {

/// Returns the figures for which the summary has data: SIDCo's figures 2, 7 and 8, and curves over
/// the steps. The first figures show the whole model (or the largest tensor): densities and tails
/// with their fits, decay, best-k error, distances of the fits, similarity. The last figures show
/// the densities of the largest tensors.
/// @throws RunError without gnuplot
std::vector<Figure> stats_figures(const StatsSummary& summary);

/// Returns the report as one self-contained HTML page, which loads no other files, as render_html()
/// does (reports/run/page.h). All text from the records is escaped.
/// @throws InputError without gradients; RunError without gnuplot.
std::string render_stats_html(const StatsRecords& records);

/// Returns the report as Markdown, as render_markdown().
std::string render_stats_markdown(const StatsRecords& records);

}  // namespace thinpipe
