// The figures of a run.
#pragma once

#include <string>
#include <vector>

#include "reports/figures/chart.h"
#include "reports/figures/figure.h"
#include "reports/summary/summary.h"

namespace thinpipe {

/// Those figures for which the group has something to draw, in reading order: step time and
/// speed-up against rate, step time against error, error against bytes, exposed communication,
/// parts of a step, whom ranks waited for, predicted against measured, estimation quality, sizes
/// over steps, encoding against Top-k, timelines. `id` goes before the figures' own ids. Throws
/// RunError without gnuplot, as all of these do.
std::vector<Figure> group_figures(const Group& group, const std::string& id);

/// Whether the group's links did what was asked of them; without panels where records do not say.
Figure fidelity_figure(const Group& group, const std::string& id);

/// Speed-up over one worker against the number of workers (DGC, figure 6), of each setting that was
/// run with several numbers of ranks.
std::vector<Figure> scaling_figures(const Summary& summary, const std::string& id);

/// Goodput over its ceiling, of every calibrated link; without panels where none was.
Figure calibration_figure(const Records& records);

// Shared by the single figures.

/// "topk at 100 Mbit/s", and why it is not to be trusted if it is not.
std::string cell_title(const Series& series, const Cell& cell);
/// The rates of the group as the x axis.
Axis rate_axis(const Group& group);
/// The legend of those series that have a curve.
std::vector<LegendEntry> series_legend(const Group& group, const std::vector<Curve>& curves);

/// The rates that get a panel each: all, of many six with the ends among them.
std::vector<double> panel_rates(const std::vector<double>& rates);
std::vector<double> panel_rates(const Group& group);

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
