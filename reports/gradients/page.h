// Gradient statistics as figures, a page or Markdown.
#pragma once

#include <string>
#include <vector>

#include "reports/figures/figure.h"
#include "reports/gradients/records.h"
#include "reports/gradients/summary.h"
#include "reports/page/table.h"

namespace thinpipe {

/// Returns the figures that have points: SIDCo's figures 2, 7 and 8, and curves over the steps. For
/// the whole model (or the largest tensor): densities and tails with their fits, decay, best-k
/// error, distances of the fits, similarity; then densities of the largest tensors.
/// @throws RunError without gnuplot
std::vector<Figure> stats_figures(const StatsSummary& summary);

/// Returns one page that loads nothing, as render_html() (reports/run/page.h); everything from the
/// records is escaped.
/// @throws InputError without gradients; RunError without gnuplot.
std::string render_stats_html(const StatsRecords& records);

/// Returns the report as Markdown, as render_markdown().
std::string render_stats_markdown(const StatsRecords& records);

}  // namespace thinpipe
