// Statistics of gradients as tables, figures, a page or Markdown.
#pragma once

#include <string>
#include <vector>

#include "reports/figures/figure.h"
#include "reports/gradients/records.h"
#include "reports/gradients/summary.h"
#include "reports/page/table.h"

namespace thinpipe {

/// The figures: SIDCo's figures 2, 7 and 8, and how things change by step. For the whole model (or
/// the largest tensor): densities and tails with their fits, decay and best-k error, these and the
/// fits' distances by step, similarity by step; then densities of the largest tensors. Those for
/// which there are points. Throws RunError without gnuplot.
std::vector<Figure> stats_figures(const StatsSummary& summary);

/// As render_html() (reports/run/page.h): one page that loads nothing; everything from the records
/// is escaped.
/// @throws InputError without gradients; RunError without gnuplot.
std::string render_stats_html(const StatsRecords& records);

/// As render_markdown().
std::string render_stats_markdown(const StatsRecords& records);

}  // namespace thinpipe
