// What trainings of recipes share.
#include "harness/reproduce/training_recipes.h"

namespace thinpipe {
namespace {

// Quality does not depend on links: fast ones, and no waiting for compute times.
std::vector<std::string> four_workers(std::vector<std::string> model) {
  model.insert(model.begin(), {"-w", "4", "--link", "rate=1gbit", "--compute-time", "0"});
  model.insert(model.end(), {"--check-every", "100"});
  return model;
}

std::vector<std::string> train_words(const CommonTraining& common, const TrainedArm& arm,
                                     bool quick) {
  std::vector<std::string> words{"train"};
  for (const auto* more : {&common.words, quick ? &common.quick : &common.full, &arm.words})
    words.insert(words.end(), more->begin(), more->end());
  const std::string& optimiser = arm.optimiser.empty() ? common.optimiser : arm.optimiser;
  words.insert(words.end(), {"--optimiser", optimiser, "-c", arm.compressor, "--no-baseline"});
  return words;
}

}  // namespace

void add_trainings(Recipe& recipe, const CommonTraining& common,
                   const std::vector<TrainedArm>& trainings) {
  recipe.needs.training = true;
  for (const TrainedArm& arm : trainings) {
    recipe.arms.push_back({.label = arm.label,
                           .full = train_words(common, arm, false),
                           .quick = train_words(common, arm, true)});
    recipe.plan.rows.push_back({.label = arm.label,
                                .arm = arm.label,
                                .compressor = "",
                                .paper = {arm.paper, "", arm.paper_times}});
  }
}

std::vector<std::string> small_images() { return four_workers({"-m", "lenet5"}); }

std::vector<std::string> small_text() { return four_workers({"-m", "charlstm", "--clip", "1"}); }

std::vector<ReproductionColumn> trained_columns(ReproductionColumn quality) {
  return {std::move(quality), columns::bytes(), columns::times_smaller()};
}

std::string small_models_differ() {
  return "Models and data are small, and trainings short, so that they end within an hour on two "
         "cores: absolute figures say nothing about the paper's, differences between designs do.";
}

std::string two_workers_differ(const std::string& paper) {
  return "Two workers, the paper has " + paper +
         ": times are believed where every worker has a core of its own, and this is to run on "
         "two.";
}

}  // namespace thinpipe
