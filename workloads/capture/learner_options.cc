#include "workloads/capture/learner_options.h"

#include <limits>

#include <fmt/format.h>

#include "workloads/capture/optimiser_spec.h"
#include "workloads/capture/option_reader.h"
#include "workloads/capture/rate_schedule.h"
#include "workloads/models/catalogue.h"

namespace thinpipe {

using nlohmann::json;

json LearnerOptions::to_json() const {
  return {{"model", model},       {"width", width}, {"data", data},       {"workers", workers},
          {"batch", batch},       {"seed", seed},   {"steps", steps},     {"optimiser", optimiser},
          {"schedule", schedule}, {"clip", clip},   {"augment", augment}, {"held_out", held_out},
          {"squares", squares}};
}

LearnerOptions parse_learner_options(const json& object) {
  const OptionReader read(object, "train",
                          {"model", "width", "data", "workers", "batch", "seed", "steps",
                           "optimiser", "schedule", "clip", "augment", "held_out", "squares"});
  LearnerOptions options;
  read.string("model", options.model);
  const ModelInfo& model = find_trainable_model(options.model);
  const TrainingDefaults& defaults = *model.training;
  options.batch = defaults.batch;
  options.optimiser =
      fmt::format("sgd:lr={},momentum={}", defaults.learning_rate, defaults.momentum);
  read.number("width", options.width, 0.01, 4);
  if (options.width != 1 && !defaults.has_width) {
    throw InputError(fmt::format("train: width: {} has one width only; expected 1, found {:g}",
                                 model.name, options.width));
  }
  read.string("data", options.data);
  read.integer("workers", options.workers, 1, 1024);
  read.integer("batch", options.batch, 1, 65'536);
  read.integer("seed", options.seed, 0, std::numeric_limits<std::uint64_t>::max());
  read.integer("steps", options.steps, 1, 1'000'000'000);
  read.string("optimiser", options.optimiser);
  options.optimiser = OptimiserSpec::parse(options.optimiser).to_string();
  read.string("schedule", options.schedule);
  RateSchedule::parse(options.schedule, options.steps);
  read.number("clip", options.clip, 0, OptionReader::kUnbounded);
  read.flag("augment", options.augment);
  if (options.augment && defaults.data != DataKind::kDigits && defaults.data != DataKind::kColour) {
    throw InputError("train: augment: " + model.name + " learns text; expected a model of images");
  }
  read.integer("held_out", options.held_out, 0, std::numeric_limits<std::uint64_t>::max());
  read.flag("squares", options.squares);
  check_squares(options.squares, model, "train");
  return options;
}

}  // namespace thinpipe
