// Trainings as a page or as Markdown: verdict, figures, tables.
#pragma once

#include <string>

#include "reports/record/record.h"

namespace thinpipe {

/// One page that loads nothing; everything from the records is escaped.
/// @throws InputError without a point, or for records of another kind; RunError without gnuplot
std::string render_training_html(const Records& records);

/// The same without figures.
std::string render_training_markdown(const Records& records);

}  // namespace thinpipe
