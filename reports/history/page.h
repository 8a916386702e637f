// The summary of a history, its figures and its page.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "reports/figures/figure.h"
#include "reports/gate/gate.h"
#include "reports/gate/history.h"
#include "reports/page/page.h"
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

  /// Returns the value compared with those before it; null after too few values.
  const Standing* standing(std::size_t entry) const {
    return entry < trend.standings.size() && trend.standings[entry] ? &*trend.standings[entry]
                                                                    : nullptr;
  }
  bool is_outlying(std::size_t entry) const;
  /// Returns whether the value is the first one after an accepted step.
  bool begins_step(std::size_t entry) const { return std::ranges::count(trend.steps, entry) > 0; }
  bool makes_step(std::size_t entry) const;  ///< one of the values by which a step was accepted
  /// Returns the metric's priority when the number of drawn panels is limited: 3 if the newest
  /// value is worse, 2 if it is better, 1 if an earlier value was outlying or made a step, else 0.
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
/// `point`, `metric`, `unit`, `better`, `kind`, `value`, `typical`, `least`, `most`, `outlying` and
/// `step`. `typical` is the typical value before this launch. Values from `least` to `most` would
/// not be outlying. All three are empty after too few values. `outlying` and `step` are yes or no.
std::string history_csv(const HistorySummary& summary);

/// Returns whether the report on this folder or file is a history. It is a history if the records
/// are of `bench` or `quality`, or if the folder has no records itself but record files below it.
bool is_history(const std::filesystem::path& folder_or_file);

/// Returns a figure for each metric, with a panel for each point. A panel shows the values by
/// launch, the band of expected values, outlying values and accepted steps. Exact metrics are drawn
/// only if they changed. Draws at most 60 panels; panels with changes have priority. @throws
/// RunError without gnuplot
std::vector<Figure> history_figures(const HistorySummary& summary);

/// Returns the report on the history of these folders. All text from the records is escaped.
/// @throws RunError without gnuplot (HTML)
std::string render_history(const HistorySummary& summary, ReportFormat format,
                           const std::vector<std::filesystem::path>& folders);

}  // namespace thinpipe
