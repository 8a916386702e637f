// The values behind a drawing as comma-separated values: one long form for every kind of figure.
#pragma once

#include <string>

#include "reports/figures/bars.h"
#include "reports/figures/boxes.h"
#include "reports/figures/chart.h"

namespace thinpipe {

/// The columns of the rows below, in base units (s, bit/s, B, shares); what x and y are says
/// Figure::axes. `low` and `high` are the interval of y (of a box: its middle half), empty where
/// there is none; `trusted` is `no` for what is drawn grey. A part of a bar begins at x and is y
/// long.
inline constexpr const char* kFigureDataColumns = "panel,series,x,y,low,high,trusted";

/// A row a value, each ended by a line feed, of the figure's panel `panel`.
std::string figure_data(const std::string& panel, const Chart& chart);
std::string figure_data(const std::string& panel, const BarChart& chart);
std::string figure_data(const std::string& panel, const BoxChart& chart);

}  // namespace thinpipe
