// The report of a run as a page and as Markdown, and its tables.
#pragma once

#include <string>
#include <vector>

#include "reports/page/table.h"
#include "reports/record/record.h"
#include "reports/summary/summary.h"

namespace thinpipe {

/// The report as one self-contained page: HTML5 with inline SVG, style and one small script that
/// sorts tables; it loads nothing from anywhere (a content security policy in the page forbids it)
/// and reads well without the script. Everything from the records is escaped. Throws RunError
/// without gnuplot. With the records of a training there is a section on step time against its
/// final loss.
/// @throws InputError when `trained` has none of the run's compressors.
std::string render_html(const Records& records, const Records* trained = nullptr);

/// The report as Markdown with pipe tables (GitHub's dialect): no figures, no need of gnuplot.
/// Everything from the records is escaped. With the records of a training there is a table of its
/// final losses beside step times.
/// @throws InputError when `trained` has none of the run's compressors.
std::string render_markdown(const Records& records, const Records* trained = nullptr);

/// Compressors by link rates: the step times of the baselines, the others' speed-up over them
/// ("1.8x / 3.4x": over `bf16` first, over `none` beside it), the break-even rate and the geometric
/// mean of the speed-ups over the rates where all figures are there.
Table overview_table(const Group& group);

/// Every compressor at every rate of every group with everything that was measured; what is grey
/// says why.
Table points_table(const Summary& summary);

/// For each row of the above the command that measures it again; "" where it is not known.
std::vector<std::string> again_commands(const Summary& summary);

/// The models' predictions beside measurements; no rows where nothing was predicted.
Table predictions_table(const Group& group);

/// Every way of every link that was calibrated: what it delivered before ranks used it.
Table calibration_table(const Records& records);

}  // namespace thinpipe
