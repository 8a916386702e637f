// The list of all recipes that were carried out in a folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "reports/reproduction/reproduction.h"

namespace thinpipe {

/// What the list says of one.
struct ReproductionOutcome {
  std::string name, title;
  std::string outcome;  ///< "3 yes, 1 unclear"
  std::string date;     ///< of the last measurement, ISO 8601
  bool quick = false;
  bool complete = true;
};

ReproductionOutcome outcome_of(const Reproduction& reproduction);

/// Leaves it where outcomes_in() finds it. @throws SystemError when it cannot be written
void write_outcome(const std::filesystem::path& file, const ReproductionOutcome& outcome);
/// @returns nothing for a file that is not there, or not an outcome
std::optional<ReproductionOutcome> read_outcome(const std::filesystem::path& file);

/// Markdown, with links to the pages beside it.
std::string reproduction_index(const std::vector<ReproductionOutcome>& outcomes);

}  // namespace thinpipe
