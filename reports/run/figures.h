// The figures of a run.
#pragma once

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

}  // namespace thinpipe
