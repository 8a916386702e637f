// Options of a training run beyond those of any sweep, and the description of its model.
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

/// Description of a model: its parameters, and the compute time of a worker that has the machine to
/// itself. The training program reports it, and a run needs it before the first rank starts.
struct ModelDescription {
  std::string data;  ///< name of the training data, in words
  std::vector<TraceTensor> tensors;
  TraceStepTimes times;      ///< of one worker's step, alone: medians of `measured` steps
  int measured = 0;          ///< 0: given by --compute-time
  double evaluation = 0;     ///< s of one evaluation on the held-out data
  double epochs_a_step = 0;  ///< of one worker that has all the data
  /// Accuracy or perplexity that a guess without looking at the input has on the held-out data
  /// (Learner::chance()); nothing in descriptions that earlier versions wrote.
  std::optional<double> chance;

  /// Sets the compute time of every step, scaling all times by the same factor.
  void set_compute_time(double seconds);
  std::size_t elements() const;

  nlohmann::json to_json() const;
  /// @throws InputError naming a field that to_json() cannot have written
  static ModelDescription from_json(const JsonField& field);
};

/// Returns the identity of a training, with all options that decide its result except steps,
/// workers and seed: "training-1:model=lenet5,...".
std::string training_identity(const LearnerOptions& options);

/// Returns the description of the gradients for a replay by `workers` workers.
GivenDescription given_description(const ModelDescription& model, const LearnerOptions& options,
                                   int workers);

/// Returns a model's tensors and the times of a step. Runs the training program to its end, for some
/// seconds: one process computes some steps.
/// @param measures  whether times are needed; without them the program computes fewer steps
/// @throws InputError for options that the program refuses, RunError when it fails or is missing.
ModelDescription describe_model(const LearnerOptions& options, bool measures);

struct TrainOptions {
  /// Options of the sweep; its `steps` are training steps, its `repeats` are seeds.
  SweepOptions sweep;
  LearnerOptions learner;  ///< seed and workers are the point's
  std::optional<Target> target;
  std::uint64_t eval_every = 50;         ///< steps
  std::uint64_t checkpoint_every = 100;  ///< steps; 0: only on an interruption
  std::optional<double> compute_time;    ///< s of a step, instead of the time of a worker alone
  std::filesystem::path capture;         ///< empty: nothing is captured
  std::uint64_t capture_every = 1;       ///< steps

  bool perplexity() const;  ///< the model learns text
};

/// Trains every compressor on every link with every seed to the end, and records each point that is
/// not in the records yet. Progress goes to stderr.
/// @returns the exit code of run_sweep() @throws InputError, RunError before anything is trained
int run_train(TrainOptions options);

/// Returns whether any of the compressors needs second moments.
bool need_squares(const CompressorRules& compressors);

/// Returns the seed of the point's repeat: the requested seed plus the repeat's number.
std::uint64_t seed_of(const SweepPoint& point, const TrainOptions& options);

/// Returns the sweep's settings_of(), with the options that change figures of trainings alone.
nlohmann::json settings_of(const TrainOptions& options);

/// Returns the identity of the point's checkpoints: no other training resumes from them.
std::string identity_of(const SweepPoint& point, const TrainOptions& options);

/// Returns the options of the point's learners.
LearnerOptions learner_of(const SweepPoint& point, const TrainOptions& options);

}  // namespace thinpipe
