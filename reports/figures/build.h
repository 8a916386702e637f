// What the builders of single figures share.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "reports/figures/bars.h"
#include "reports/figures/boxes.h"
#include "reports/figures/chart.h"
#include "reports/figures/figures.h"

namespace thinpipe::figures {

/// "topk at 100 Mbit/s", and why it is not to be trusted if it is not.
std::string cell_title(const Series& series, const Cell& cell);
/// "60 steps in 3 repeats".
std::string cell_basis(const Cell& cell);
/// The rates of the group as the x axis.
Axis rate_axis(const Group& group);
/// The legend of those series that have a curve.
std::vector<LegendEntry> series_legend(const Group& group, const std::vector<Curve>& curves);
/// Draws the chart as the figure's next panel, with its data, unless it has nothing to draw.
void add_panel(Figure& figure, const std::string& title, const Chart& chart);
void add_panel(Figure& figure, const std::string& title, const BarChart& chart);
void add_panel(Figure& figure, const std::string& title, const BoxChart& chart);

/// Of drawings that stand beside each other.
inline constexpr int kPanelWidth = 400;

/// The rates that get a panel each: all, of many six with the ends among them.
std::vector<double> panel_rates(const std::vector<double>& rates);
std::vector<double> panel_rates(const Group& group);

/// The first used point of the series, from the lowest rate on, with a sample of the metric: a
/// trusted one if there is any; or null.
const Point* first_point_with(const Series& series, const std::string& metric);

/// Values of the point's steps, counted from 1; of very many every so many-th. `told` words a value
/// for tooltips.
Curve step_curve(const Series& series, const Point& point, const std::vector<double>& values,
                 const std::function<std::string(double)>& told);

Figure step_time(const Group& group, const std::string& id);
Figure speedup(const Group& group, const std::string& id);
Figure parts(const Group& group, const std::string& id);
Figure quality(const Group& group, const std::string& id);
Figure error_and_bytes(const Group& group, const std::string& id);
Figure pareto(const Group& group, const std::string& id);
Figure exposed(const Group& group, const std::string& id);
Figure waits(const Group& group, const std::string& id);
Figure predicted(const Group& group, const std::string& id);
Figure sizes(const Group& group, const std::string& id);
Figure latency(const Group& group, const std::string& id);
Figure timeline(const Group& group, const std::string& id);

}  // namespace thinpipe::figures
