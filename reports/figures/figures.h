// The report's figures for one group of comparable points.
#pragma once

#include <string>
#include <vector>

#include "reports/summary/summary.h"
#include "reports/training/summary.h"

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
  std::string data = {};               ///< rows of kFigureDataColumns (data.h)
  std::vector<std::string> axes = {};  ///< what x and y are in them: "x link rate, y step time"
};

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

/// Step time against the loss that trainings of the same compressors ended with; without panels
/// where there is none of them.
Figure loss_figure(const Group& group, const std::string& id, const TrainingSummary& trained);

/// What every calibrated link delivered over what it can; without panels where none was.
Figure calibration_figure(const Records& records);

}  // namespace thinpipe
