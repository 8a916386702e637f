// Recipes that train: does the compressor still learn?
#pragma once

#include "harness/reproduce/recipe.h"

namespace thinpipe {

/// What the trainings of a recipe have in common, as arguments of `thinpipe train`.
struct CommonTraining {
  std::vector<std::string> words;
  std::vector<std::string> full, quick;  ///< steps, seeds
  std::string optimiser = "sgd:lr=0.02,momentum=0.9";
};

/// One training of a recipe, and its line in the table.
struct TrainedArm {
  std::string label;                    ///< as the paper names it
  std::string paper;                    ///< the paper's figure for the first column; "" for none
  std::string compressor;               ///< a spec
  std::vector<std::string> words = {};  ///< more arguments
  std::string optimiser = {};           ///< instead of the common one
  std::string paper_times = {};         ///< the paper's figure for `times smaller`
};

/// Adds an arm and a row for each.
void add_trainings(Recipe& recipe, const CommonTraining& common,
                   const std::vector<TrainedArm>& trainings);

/// Four workers' LeNet-5 on drawn digits, at a rate that does not matter: arguments of
/// `thinpipe train` that most recipes share.
std::vector<std::string> small_images();
/// Likewise: the character LSTM.
std::vector<std::string> small_text();

/// Accuracy, bytes of a worker and step, times smaller: the columns of most.
std::vector<ReproductionColumn> trained_columns(ReproductionColumn quality);

/// What most trainings differ in from the papers'.
std::string small_models_differ();

/// Why there are two where times count. @param paper  its own number of workers, as a word
std::string two_workers_differ(const std::string& paper);

}  // namespace thinpipe
