// The report as Markdown: verdict and tables, no figures, no need of gnuplot.
#pragma once

#include <string>

#include "reports/record/record.h"

namespace thinpipe {

/// Markdown with pipe tables (GitHub's dialect). Everything from the records is escaped.
std::string render_markdown(const Records& records);

}  // namespace thinpipe
