// A figure: one or several drawings with legend, caption and the data behind them.
#pragma once

#include <string>
#include <vector>

#include "reports/figures/chart.h"

namespace thinpipe {

/// One drawing of a figure.
struct Panel {
  std::string title;  ///< plain text; "" when the figure's own title says it all
  std::string svg;    ///< finished, safe to put into a page
};

struct LegendEntry {
  std::string symbol;  ///< finished markup
  std::string label;   ///< plain text
};

struct Figure {
  std::string id;       ///< unique in the page
  std::string title;    ///< plain text
  std::string caption;  ///< plain text: what is drawn and how it was computed
  std::vector<LegendEntry> legend;
  std::vector<Panel> panels;           ///< never empty
  std::string data = {};               ///< rows of kFigureDataColumns
  std::vector<std::string> axes = {};  ///< what x and y are in them: "x link rate, y step time"
};

/// Draws the chart as the figure's next panel, with its data, unless it has nothing to draw.
void add_panel(Figure& figure, const std::string& title, const Chart& chart);
void add_panel(Figure& figure, const std::string& title, const BarChart& chart);
void add_panel(Figure& figure, const std::string& title, const BoxChart& chart);

/// Width of drawings that stand beside each other.
inline constexpr int kPanelWidth = 400;

/// The columns of a figure's data, in base units (s, bit/s, B, shares); what x and y are says
/// Figure::axes. `low` and `high` are the interval of y (of a box: its middle half), empty where
/// there is none; `trusted` is `no` for what is drawn grey. A part of a bar begins at x and is y
/// long.
inline constexpr const char* kFigureDataColumns = "panel,series,x,y,low,high,trusted";

/// The data behind a drawing in one long form for every kind of it: a row a value, each ended by a
/// line feed, of the figure's panel `panel`.
std::string figure_data(const std::string& panel, const Chart& chart);
std::string figure_data(const std::string& panel, const BarChart& chart);
std::string figure_data(const std::string& panel, const BoxChart& chart);

}  // namespace thinpipe
