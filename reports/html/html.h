// The report as one self-contained HTML page.
#pragma once

#include <string>

#include "reports/record/record.h"

namespace thinpipe {

/// HTML5 with inline SVG, style and one small script that sorts tables; it loads nothing from
/// anywhere (a content security policy in the page forbids it) and reads well without the script.
/// Everything from the records is escaped. Throws RunError without gnuplot.
/// With the records of a training there is a section on step time against its final loss.
/// @throws InputError when `trained` has none of the run's compressors.
std::string render_html(const Records& records, const Records* trained = nullptr);

}  // namespace thinpipe
