// Results of trainings with a compressor, from the pages of recipes that were run in full.
#pragma once

#include <string>
#include <vector>

#include "compressors/spec.h"

namespace thinpipe {

/// A row of a recipe's page (docs/results/reproduce/RECIPE.md) and the row that it is compared
/// with. A test looks both rows up in the page.
struct TrainingResult {
  const char* compressor;  ///< a spec
  const char* recipe;
  const char* training;  ///< model, data and optimiser
  const char* row;       ///< of the page's table of figures
  const char* figure;    ///< in that row, with its 95 % interval: accuracy, or perplexity
  const char* baseline_row;
  const char* baseline_figure;
};

const std::vector<TrainingResult>& training_results();

/// Returns the results of trainings with this compressor and all its parameters.
std::vector<TrainingResult> trainings_with(const Spec& compressor);

/// Returns "accuracy 93.52 ± 1.25 %, without compression 93.16 ± 0.79 %: LeNet-5 on generated
/// digits, SGD (recipe error-feedback)".
std::string to_string(const TrainingResult& result);

}  // namespace thinpipe
