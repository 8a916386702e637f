// The report as Markdown: verdict and tables, no figures, no need of gnuplot.
#pragma once

#include <string>

#include "reports/record/record.h"

namespace thinpipe {

/// Markdown with pipe tables (GitHub's dialect). Everything from the records is escaped.
/// With the records of a training there is a table of its final losses beside step times.
/// @throws InputError when `trained` has none of the run's compressors.
std::string render_markdown(const Records& records, const Records* trained = nullptr);

}  // namespace thinpipe
