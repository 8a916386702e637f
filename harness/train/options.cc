#include "harness/train/options.h"

#include <fmt/format.h>

#include "workloads/models/catalogue.h"

namespace thinpipe {

bool TrainOptions::perplexity() const {
  return is_text(find_trainable_model(learner.model).training->data);
}

std::uint64_t seed_of(const SweepPoint& point, const TrainOptions& options) {
  return options.sweep.seed + static_cast<std::uint64_t>(point.repeat);
}

std::string identity_of(const SweepPoint& point, const TrainOptions& options) {
  return fmt::format("{}|{}|seed {}", point.id(options.sweep), training_identity(options.learner),
                     seed_of(point, options));
}

LearnerOptions learner_of(const SweepPoint& point, const TrainOptions& options) {
  LearnerOptions learner = options.learner;
  learner.workers = static_cast<std::size_t>(point.ranks);
  learner.seed = seed_of(point, options);
  learner.steps = options.sweep.steps;
  return learner;
}

}  // namespace thinpipe
