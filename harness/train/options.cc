#include "harness/train/options.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/sweep/settings.h"
#include "workloads/models/catalogue.h"

namespace thinpipe {

bool TrainOptions::perplexity() const {
  return is_text(find_trainable_model(learner.model).training->data);
}

std::uint64_t seed_of(const SweepPoint& point, const TrainOptions& options) {
  return options.sweep.seed + static_cast<std::uint64_t>(point.repeat);
}

nlohmann::json settings_of(const TrainOptions& options) {
  using nlohmann::json;
  json settings = settings_of(options.sweep);
  settings["eval_every"] = options.eval_every;
  settings["target"] = options.target ? json(options.target->to_string()) : json(nullptr);
  settings["compute_time"] = options.compute_time ? json(*options.compute_time) : json(nullptr);
  return settings;
}

// With options that change its curves: one training is not in parts of several kinds.
std::string identity_of(const SweepPoint& point, const TrainOptions& options) {
  const std::string compute =
      options.compute_time ? fmt::format("{} s", *options.compute_time) : "measured";
  return fmt::format("{}|{}|seed {}|evaluated every {}|compute {}", point.id(options.sweep),
                     training_identity(options.learner), seed_of(point, options),
                     options.eval_every, compute);
}

LearnerOptions learner_of(const SweepPoint& point, const TrainOptions& options) {
  LearnerOptions learner = options.learner;
  learner.workers = static_cast<std::size_t>(point.ranks);
  learner.seed = seed_of(point, options);
  learner.steps = options.sweep.steps;
  return learner;
}

}  // namespace thinpipe
