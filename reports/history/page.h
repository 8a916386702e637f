// A history as a page or as Markdown.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reports/figures/figures.h"
#include "reports/history/summary.h"

namespace thinpipe {

/// Whether this folder, or file, has records of which only a history can be told: those of `bench`
/// or `quality`; or a folder that has no records itself, but files of some below it.
bool is_history(const std::filesystem::path& folder_or_file);

/// A figure a metric, a panel a point: value against launch, with the band in which values were
/// expected, outlying ones and accepted steps. Exact metrics only where they changed. At most 60
/// panels, what changed first. @throws RunError without gnuplot.
std::vector<Figure> history_figures(const HistorySummary& summary);

/// As render_html(): one page that loads nothing; everything from the records is escaped.
/// `command` is how the page is made again, ready for a shell. @throws RunError without gnuplot.
std::string render_history_html(const HistorySummary& summary, const std::string& command);

/// As render_markdown().
std::string render_history_markdown(const HistorySummary& summary, const std::string& command);

}  // namespace thinpipe
