// The summary of a history, its figures and its page.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reports/figures/figure.h"
#include "reports/gate/gate.h"
#include "reports/gate/history.h"
#include "reports/page/table.h"

namespace thinpipe {

/// One metric of one point over its launches.
struct HistoryTrend {
  SeriesName name;
  HistorySeries series;
  std::vector<double> values;  ///< of series.entries
  double margin = 0;           ///< a fraction; 0 for exact metrics, which are equal or not
  /// Exact metrics have no standings, and a step wherever the value changes.
  Trend trend;
  bool is_newest = false;            ///< the newest launch has the metric
  Verdict verdict = Verdict::kSame;  ///< of the newest launch; kUnclear where it lacks the metric

  bool is_outlying(std::size_t entry) const;
  bool makes_step(std::size_t entry) const;  ///< one of the values by which a step was accepted
  /// Returns the priority in figures: 3 where the newest value is worse, 2 where it is better, 1
  /// where an earlier value was outlying or made a step, else 0.
  int interest() const;
};

struct HistorySummary {
  History history;
  GateOutcome outcome;  ///< of the newest launch, by the standard margins
  /// By metric, then point; without metrics that the standard policy ignores.
  std::vector<HistoryTrend> trends;
};

HistorySummary summarize(History history);

/// Returns "bench, 9 launches, 2026-01-01T00:00:00Z to 2026-01-09T00:00:00Z"
std::string history_subject(const HistorySummary& summary);

/// Returns changes in the newest launch, accepted steps and missing metrics, in sentences.
std::vector<std::string> history_findings(const HistorySummary& summary);

/// Describes in sentences how values are judged.
std::vector<std::string> history_method_notes();

/// Lists metrics and points, each with a sparkline; and the launches.
Table history_trends_table(const HistorySummary& summary);
Table history_launches_table(const HistorySummary& summary);

/// Returns a value with its unit, as value_text() does.
std::string history_value_text(const HistorySeries& series, double value);

/// Returns comma-separated values (RFC 4180), one row per value: `launch` (from 1), `created`,
/// `point`, `metric`, `unit`, `better`, `kind`, `value`, the `typical` value before it with the
/// `least` and `most` that would not be outlying (empty after too few values), `outlying` and
/// `step` (yes or no).
std::string history_csv(const HistorySummary& summary);

/// Returns whether a report on this folder or file is a history: records of `bench` or `quality`,
/// or a folder without records of its own but with record files below it.
bool is_history(const std::filesystem::path& folder_or_file);

/// Returns a figure per metric with a panel per point: value against launch, with the band of
/// expected values, outlying values and accepted steps. Exact metrics are drawn where they changed.
/// At most 60 panels, those with changes first. @throws RunError without gnuplot
std::vector<Figure> history_figures(const HistorySummary& summary);

/// Returns one page that loads nothing; everything from the records is escaped. `command` makes the
/// page again and is ready for a shell. @throws RunError without gnuplot
std::string render_history_html(const HistorySummary& summary, const std::string& command);

/// Returns the report as Markdown.
std::string render_history_markdown(const HistorySummary& summary, const std::string& command);

}  // namespace thinpipe
