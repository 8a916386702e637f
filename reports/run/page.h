// The report of a run as a page and as Markdown, and its tables.
#pragma once

#include <string>
#include <vector>

#include "reports/page/table.h"
#include "reports/record/record.h"
#include "reports/summary/summary.h"

namespace thinpipe {

/// Returns the report as one self-contained page: HTML5 with inline SVG, style and one small script
/// that sorts and filters tables and redraws sliders. The page loads no other files (its content
/// security policy forbids it) and is complete without the script. All text from the records is
/// escaped. If `trained`, the records of a training, is given, a section shows step time against
/// the final loss.
/// @throws InputError when `trained` has none of the run's compressors; RunError without gnuplot
std::string render_html(const Records& records, const Records* trained = nullptr);

/// Returns the report as Markdown with pipe tables (GitHub's dialect). It needs no gnuplot.
/// Everything from the records is escaped. With the records of a training, a table shows its final
/// losses beside step times.
/// @throws InputError when `trained` has none of the run's compressors.
std::string render_markdown(const Records& records, const Records* trained = nullptr);

/// Returns a table of compressors by link rate. It has the baselines' step times, the compressors'
/// speed-ups ("1.8x / 3.4x": over `bf16`, then over `none`) and the rates at which each compressor
/// is faster than the baseline. It also has the geometric mean of the speed-ups, if every rate has
/// a speed-up.
Table overview_table(const Group& group);

/// Lists every compressor at every rate of every group with all metrics. Grey rows have reasons.
Table points_table(const Summary& summary);

/// Returns for each row of points_table() the command that measures it again; "" where unknown.
std::vector<std::string> again_commands(const Summary& summary);

/// Lists predictions beside measurements; no rows where records have no predictions.
Table predictions_table(const Group& group);

/// Lists both directions of every calibrated link with goodput and TCP ceiling.
Table calibration_table(const Records& records);

}  // namespace thinpipe
