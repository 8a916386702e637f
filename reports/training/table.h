// A training run for the end of a terminal session: a table and what it says.
#pragma once

#include <string>
#include <vector>

#include "reports/training/summary.h"

namespace thinpipe {

/// A line for each compressor on each link, at most 80 columns wide.
std::string training_table(const TrainingSummary& summary);

/// At most three sentences: who was fastest, what it cost in quality, what went wrong.
std::vector<std::string> training_findings(const TrainingSummary& summary);

/// Both, of the records of a training. @throws InputError for records of another kind
std::string training_text(const Records& records);

}  // namespace thinpipe
