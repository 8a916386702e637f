// A history made ready to be told and drawn, and its page.
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
  double margin = 0;           ///< a share; 0 for exact metrics, which are equal or not
  /// Exact metrics have no standings, and a step wherever the value is another than before.
  Trend trend;
  bool is_newest = false;            ///< the newest launch has it
  Verdict verdict = Verdict::kSame;  ///< of the newest launch; unclear without it

  bool is_outlying(std::size_t entry) const;
  bool makes_step(std::size_t entry) const;  ///< is one of those by which a step was accepted
  /// How much the eye should be led to it: 3 when the newest value is worse, 2 when it is better, 1
  /// when something was once.
  int interest() const;
};

struct HistorySummary {
  History history;
  GateOutcome outcome;  ///< of the newest launch, by the standard margins
  /// By metric, then point; what the standard policy ignores is left out.
  std::vector<HistoryTrend> trends;
};

HistorySummary summarize(History history);

/// "bench, 9 launches, 2026-01-01T00:00:00Z to 2026-01-09T00:00:00Z"
std::string history_subject(const HistorySummary& summary);

/// Changes in the newest launch, changes of level, missing metrics; in sentences.
std::vector<std::string> history_findings(const HistorySummary& summary);

/// How values are judged, in sentences.
std::vector<std::string> history_method_notes();

/// A row a metric and point, with a sparkline; and a row a launch.
Table history_trends_table(const HistorySummary& summary);
Table history_launches_table(const HistorySummary& summary);

/// A value with its unit, as value_text() has it.
std::string history_value_text(const HistorySeries& series, double value);

/// A row a value (RFC 4180): `launch` (from 1), `created`, `point`, `metric`, `unit`, `better`,
/// `kind`, `value`, the `typical` value before it with the `least` and `most` that would not have
/// been outlying (empty where too few were before it), `outlying` and `step` (yes or no).
std::string history_csv(const HistorySummary& summary);

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
