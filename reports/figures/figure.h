// A figure: one or several drawings with legend, caption and data.
#pragma once

#include <string>
#include <vector>

#include "reports/figures/chart.h"

namespace thinpipe {

/// One drawing of a figure.
struct Panel {
  std::string title;  ///< plain text; "" where the figure's title is enough
  std::string svg;    ///< finished, safe for a page
};

struct LegendEntry {
  std::string symbol;  ///< finished markup
  std::string label;   ///< plain text
};

struct Figure {
  std::string id;            ///< unique in the page
  std::string title;         ///< plain text
  std::string caption = {};  ///< plain text: the contents and how they were computed
  std::vector<LegendEntry> legend = {};
  std::vector<Panel> panels = {};      ///< empty where there was nothing to draw
  std::string data = {};               ///< rows of kFigureDataColumns
  std::vector<std::string> axes = {};  ///< meaning of x and y: "x link rate, y step time"
};

/// Adds the chart as the figure's next panel, with its data; adds nothing where there is nothing to
/// draw.
void add_panel(Figure& figure, const std::string& title, const Chart& chart);
void add_panel(Figure& figure, const std::string& title, const BarChart& chart);
void add_panel(Figure& figure, const std::string& title, const BoxChart& chart);

/// Returns an id for the figure's next panel, "g0-parts-2".
std::string panel_id(const Figure& figure);

/// Returns the figures that have panels.
std::vector<Figure> with_panels(std::vector<Figure> figures);

/// The width of drawings side by side.
inline constexpr int kPanelWidth = 400;

/// The columns of a figure's data, in base units (s, bit/s, B, fractions). Figure::axes describes x
/// and y. `low` and `high` are the ends of y's interval (or of a box), or empty if there is no
/// interval. `trusted` is `no` for points that are drawn grey. In a bar chart, a part of a bar
/// begins at x and has the length y.
inline constexpr const char* kFigureDataColumns = "panel,series,x,y,low,high,trusted";

/// Returns a drawing's data as one row per value, each ended by a line feed; `panel` is the panel's
/// title.
std::string figure_data(const std::string& panel, const Chart& chart);
std::string figure_data(const std::string& panel, const BarChart& chart);
std::string figure_data(const std::string& panel, const BoxChart& chart);

}  // namespace thinpipe
