// The figures of a run, and its slider over the link's rate.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/figures/chart.h"
#include "reports/figures/figure.h"
#include "reports/summary/summary.h"

namespace thinpipe {

/// Returns the figures for which the group has data, in reading order: step time and speed-up
/// against rate, step time against error, error against bytes, exposed communication, breakdown of
/// a step, waits by host, predicted against measured, estimation quality, sizes over steps,
/// encoding against Top-k, timelines. `id` is the prefix of the figures' ids.
/// @throws RunError without gnuplot, as all functions of this header that draw
std::vector<Figure> group_figures(const Group& group, const std::string& id);

/// Shows the fidelity of the group's links; without panels where records have no fidelity.
Figure fidelity_figure(const Group& group, const std::string& id);

/// Shows the speed-up over one worker against the number of workers (DGC, figure 6), for each
/// setting that was run with several numbers of ranks.
std::vector<Figure> scaling_figures(const Summary& summary, const std::string& id);

/// Shows goodput over the TCP ceiling of every calibrated link; without panels where none was.
Figure calibration_figure(const Records& records);

// Shared by the single figures.

/// Returns "topk at 100 Mbit/s", with the reason where the cell is invalid.
std::string cell_title(const Series& series, const Cell& cell);
/// Returns the x axis of the group's rates.
Axis rate_axis(const Group& group);
/// Returns the legend of the series that have a curve.
std::vector<LegendEntry> series_legend(const Group& group, const std::vector<Curve>& curves);

/// Returns the link rates that get a panel in a figure: all rates if there are at most six, else
/// six of them, including the lowest and the highest.
std::vector<double> panel_rates(const std::vector<double>& rates);

// The single figures of group_figures(); without panels where there is nothing to draw.
Figure step_time_figure(const Group& group, const std::string& id);
Figure speedup_figure(const Group& group, const std::string& id);
Figure parts_figure(const Group& group, const std::string& id);
Figure quality_figure(const Group& group, const std::string& id);
Figure error_and_bytes_figure(const Group& group, const std::string& id);
Figure pareto_figure(const Group& group, const std::string& id);
Figure exposed_figure(const Group& group, const std::string& id);
Figure waits_figure(const Group& group, const std::string& id);
Figure predicted_figure(const Group& group, const std::string& id);
Figure sizes_figure(const Group& group, const std::string& id);
Figure latency_figure(const Group& group, const std::string& id);
Figure timeline_figure(const Group& group, const std::string& id);

// A slider over the link's rate, for the page of a run.

/// A step time at one link rate. `low` and `high` are the ends of its 95 % interval; without an
/// interval, both are equal to `time`.
struct RatePoint {
  double rate = 0;  ///< bit/s
  double time = 0;  ///< s
  double low = 0;   ///< s
  double high = 0;  ///< s
};

/// The step times of a series, ascending in rate.
struct RateCurves {
  const Series* series = nullptr;
  std::vector<RatePoint> measured = {};   ///< `ok` cells alone
  std::vector<RatePoint> predicted = {};  ///< empty where records have no predictions
};

/// Returns the curves of the group's series, in the group's order. Leaves out series without any
/// point. The result points into `group`.
std::vector<RateCurves> rate_curves(const Group& group);

/// A step time read from a curve. `left` and `right` are the rates of the points that it was
/// interpolated between; both are the rate itself where the curve has a point.
struct TimeAtRate {
  double time = 0, low = 0, high = 0;  ///< s, as in RatePoint
  double left = 0, right = 0;          ///< bit/s
};

/// Interpolates the step time at a rate: between neighbouring points of the curve, ln(time) is
/// linear in ln(rate). Returns nothing beyond the first and the last point.
std::optional<TimeAtRate> step_time_at(const std::vector<RatePoint>& curve, double rate);

/// Returns the slider of a group as markup: a range input, a sentence on the fastest series, and a
/// bar per series. It shows the middle rate of the logarithmic scale until a script changes it, and
/// the input is hidden without the script. "" where fewer than two rates have an `ok` cell.
std::string rate_slider(const Group& group);

/// Returns the script that redraws sentence and bars of all sliders of a page.
std::string rate_slider_script();

}  // namespace thinpipe
