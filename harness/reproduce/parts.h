// What recipes share: rows, captured gradients, trainings, pictures.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "harness/reproduce/recipe.h"
#include "reports/reproduction/columns.h"
#include "reports/reproduction/reproduction.h"

namespace thinpipe {

/// The row of what is run in practice, beside a paper's own: every sweep measures it.
inline constexpr const char* kSummed16Bits = "16 bits, summed (bf16)";

/// SIDCo's three ratios, as specs write them.
inline constexpr const char* kSidcoRatios[] = {"0.1", "0.01", "0.001"};

/// "SIDCo-E", "sidco:ratio=R"; Top-k, DGC, RedSync and GaussianK first. `more` are parameters that
/// all get ("memory=none").
std::vector<std::pair<std::string, std::string>> sidco_methods(const std::string& ratio,
                                                               const std::string& more,
                                                               bool all_sidcos);

/// A row for each method at each ratio: "SIDCo-E 0.001".
void add_sidco_rows(Recipe& recipe, const std::string& arm, const std::string& more,
                    bool all_sidcos);

/// The same as `-c` and its alternatives, for one command.
std::vector<std::string> sidco_compressors(const std::string& more, bool all_sidcos);

/// Records gradients of a ResNet-20, quickly of a LeNet-5, at `NAME/trace/trace`: the first arm of
/// some recipes. @param full, quick  arguments of `thinpipe capture`
RecipeArm capture_resnet20(const std::vector<std::string>& full,
                           const std::vector<std::string>& quick);
/// The same, over a whole training by one worker.
RecipeArm capture_whole_training();
/// `thinpipe trace stats` of some steps of what was captured, without error feedback.
std::vector<std::string> stats_of_capture(const std::string& recipe, const char* steps);
/// Where that lies.
std::string captured_trace(const std::string& recipe);

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

/// A picture without lines. @param log  both axes
ReproductionPicture empty_picture(const std::string& id, const std::string& alt,
                                  const std::string& x, const std::string& y, bool log);

/// A line through (1, values[0]), (2, values[1]), ...; of many values some, at even distances.
void add_line(ReproductionPicture& picture, const std::string& name,
              const std::vector<double>& values);
/// A line through these points, with markers.
void add_points(ReproductionPicture& picture, const std::string& name, const std::vector<double>& x,
                const std::vector<double>& y);

/// The compressor with every parameter written out; what is no spec stays.
std::string spelt_out(const std::string& compressor);

/// What a spec says of a key, with words before it: "s=1.75"; "" where it does not say.
std::string spec_value(const std::string& spec, const std::string& key, const std::string& before);

}  // namespace thinpipe
