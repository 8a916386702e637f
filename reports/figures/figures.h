// The report's figures for one group of comparable points.
#pragma once

#include <string>
#include <vector>

#include "reports/summary/summary.h"

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
  std::vector<Panel> panels;  ///< never empty
  std::string data = {};      ///< rows of kFigureDataColumns (data.h)
};

/// Those figures for which the group has figures to draw, in reading order: step time against rate,
/// speed-up against rate, parts of a step, timelines of overlapped steps, error against bytes,
/// estimation quality over steps, fidelity of the links. `id` goes before the figures' own ids.
/// Throws RunError without gnuplot.
std::vector<Figure> group_figures(const Group& group, const std::string& id);

}  // namespace thinpipe
