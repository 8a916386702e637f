// The values behind a drawing as comma-separated values: one long form for every kind of figure.
#pragma once

#include <string>

#include "reports/figures/bars.h"
#include "reports/figures/boxes.h"
#include "reports/figures/chart.h"

namespace thinpipe {

/// The columns of the rows below. `x` and `y` are in the base unit (s, bit/s, B, share), `x_is` and
/// `y_is` the labels of their axes; `low` and `high` are the interval of y (of a box: its middle
/// half), empty where there is none; `trusted` is `no` for what is drawn grey. What has a name in
/// place of a number has it in `series`.
inline constexpr const char* kFigureDataColumns = "panel,series,x_is,x,y_is,y,low,high,trusted";

/// A row a value, each ended by a line feed, of the figure's panel `panel`.
std::string figure_data(const std::string& panel, const Chart& chart);
std::string figure_data(const std::string& panel, const BarChart& chart);
std::string figure_data(const std::string& panel, const BoxChart& chart);

}  // namespace thinpipe
