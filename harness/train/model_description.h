// What a run must know of its model before the first rank starts, as the program that trains tells
// it: parameters, and how long a worker computes when it has a processor for itself.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "workloads/capture/learner_options.h"
#include "workloads/replay/given_gradients.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {

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

}  // namespace thinpipe
