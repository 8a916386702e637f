// Options of a training run beside those of any sweep, and what it must know of its model.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "harness/plan/plan.h"
#include "harness/train/series.h"
#include "workloads/capture/options.h"
#include "workloads/replay/gradients.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {

/// Facts that a run needs of its model before the first rank starts, as the training program tells
/// them: parameters, and how long a worker computes when it has a processor for itself.
struct ModelDescription {
  std::string data;  ///< what is learnt from, in words
  std::vector<TraceTensor> tensors;
  TraceStepTimes times;      ///< of one worker's step, alone: medians of `measured` steps
  int measured = 0;          ///< 0: given by --compute-time
  double evaluation = 0;     ///< s that the held-out data take
  double epochs_a_step = 0;  ///< of one worker that has all the data

  /// Every step computes for so long instead: all times are stretched alike.
  void set_compute_time(double seconds);
  std::size_t elements() const;

  nlohmann::json to_json() const;
  /// @throws InputError naming the field of what to_json() has not written
  static ModelDescription from_json(const JsonField& field);
};

/// Names what is trained, all that decides what comes of it but steps, workers and seed:
/// "training-1:model=lenet5,...".
std::string training_identity(const LearnerOptions& options);

/// For a replay, by so many workers.
GivenDescription given_description(const ModelDescription& model, const LearnerOptions& options,
                                   int workers);

/// Starts the program that trains, which computes some steps alone on the machine; some seconds.
/// @param measures  times are wanted
/// @throws InputError for options that it refuses, RunError when it fails or is not there.
ModelDescription describe_model(const LearnerOptions& options, bool measures);

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

/// Seed of the point's repeat: the first has the seed that was asked for, the next the next.
std::uint64_t seed_of(const SweepPoint& point, const TrainOptions& options);

/// Those of the sweep, and what changes figures of trainings alone.
nlohmann::json settings_of(const TrainOptions& options);

/// Identity of the point's checkpoints: no other training goes on from them.
std::string identity_of(const SweepPoint& point, const TrainOptions& options);

/// The point's learners'.
LearnerOptions learner_of(const SweepPoint& point, const TrainOptions& options);

}  // namespace thinpipe
