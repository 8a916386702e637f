// What the builders of single figures share.
#pragma once

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

Figure step_time(const Group& group, const std::string& id);
Figure speedup(const Group& group, const std::string& id);
Figure parts(const Group& group, const std::string& id);
Figure quality(const Group& group, const std::string& id);
Figure error_and_bytes(const Group& group, const std::string& id);
Figure timeline(const Group& group, const std::string& id);
Figure fidelity(const Group& group, const std::string& id);

}  // namespace thinpipe::figures
