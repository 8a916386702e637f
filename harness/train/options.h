// What a training run is to do beside what any sweep does.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "harness/sweep/options.h"
#include "harness/train/model_description.h"
#include "harness/train/target.h"
#include "workloads/capture/learner_options.h"

namespace thinpipe {

struct TrainOptions {
  /// Axes, checks and the rest; its `steps` are training steps, its `repeats` are seeds.
  SweepOptions sweep;
  LearnerOptions learner;  ///< seed and workers are the point's
  std::optional<Target> target;
  std::uint64_t eval_every = 50;         ///< steps
  std::uint64_t checkpoint_every = 100;  ///< steps; 0: only when it is interrupted
  std::optional<double> compute_time;    ///< s of a step, instead of what a worker takes alone
  std::filesystem::path capture;         ///< empty: nothing is captured
  std::uint64_t capture_every = 1;       ///< steps

  bool perplexity() const;  ///< the model learns text
};

/// Of the point's repeat: the first has the seed that was asked for, the next the next.
std::uint64_t seed_of(const SweepPoint& point, const TrainOptions& options);

/// Those of the sweep, and what changes figures of trainings alone.
nlohmann::json settings_of(const TrainOptions& options);

/// What the point's checkpoints are of: no other training goes on from them.
std::string identity_of(const SweepPoint& point, const TrainOptions& options);

/// The point's learners'.
LearnerOptions learner_of(const SweepPoint& point, const TrainOptions& options);

}  // namespace thinpipe
