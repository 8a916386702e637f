// Statistics of gradients as a page or as Markdown.
#pragma once

#include <string>

#include "reports/gradients/records.h"

namespace thinpipe {

/// As render_html(): one page that loads nothing; everything from the records is escaped.
/// @throws InputError without gradients; RunError without gnuplot.
std::string render_stats_html(const StatsRecords& records);

/// As render_markdown().
std::string render_stats_markdown(const StatsRecords& records);

}  // namespace thinpipe
