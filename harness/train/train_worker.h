// One rank of a training job: a worker of harness/worker/ whose gradients are computed, not read.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/train/rank_state.h"
#include "harness/worker/worker.h"
#include "workloads/replay/given_gradients.h"
#include "workloads/training/learner.h"

namespace thinpipe {

/// Answers, beside what every worker does (a parameter server among the ranks says only that it
/// heard):
///   prepare    has `training` {model, learner} as well: ModelDescription, LearnerOptions
///   load {index}              -> loaded {loss}: the gradient of that step's mini-batch
///   apply {index, digest}     -> applied {digest}: the parameters take the step's aggregate
///   evaluate                  -> evaluated {loss, accuracy, perplexity}; rank 0 alone does
///   save {folder, step, id}   -> saved {}: this rank's part of a checkpoint
///   restore {folder, id}      -> restored {step}
///   dump {folder}             -> dumped {}: the last gradient, and second moments if there are
///   any,
///                                as FP32 in the files gradient-RANK and squares-RANK
///
/// Where all ranks exchange in every step and no outer optimiser follows, what is exchanged are
/// gradients, and their mean goes through each worker's optimiser. Else workers take steps of their
/// own in between, and what is handed over in each is by how much the parameters went down; after
/// an exchange all have the parameters of the last one less the mean of the sums, or less what the
/// outer optimiser makes of it (FedAvg; SBC alg. 1; DiLoCo alg. 1).
class TrainWorker : public Worker {
 public:
  using Worker::Worker;

 protected:
  nlohmann::json answer(const nlohmann::json& message) override;
  const Trace& gradients_of(const nlohmann::json& message) override;

 private:
  nlohmann::json prepare(const nlohmann::json& message);
  nlohmann::json compute(const nlohmann::json& message);
  nlohmann::json apply(const nlohmann::json& message);
  nlohmann::json evaluate();
  nlohmann::json save(const nlohmann::json& message);
  nlohmann::json restore(const nlohmann::json& message);
  nlohmann::json dump(const nlohmann::json& message);

  void take_gradient(std::uint64_t step);
  void step_alone(std::uint64_t step);
  void remember_parameters();
  std::vector<std::span<const float>> mean_of_step();

  std::unique_ptr<GivenGradients> given_;
  std::unique_ptr<Learner> learner_;  ///< null in a parameter server
  bool zero_non_finite_ = false;
  bool alone_ = false;                        ///< workers take steps of their own
  std::vector<bool> incremental_;             ///< by parameter
  std::vector<std::vector<float>> estimate_;  ///< of these, else empty
  std::vector<std::vector<float>> agreed_;    ///< parameters that all had last, where `alone_`
};

/// Computes some steps of worker 0 alone and prints a ModelDescription as JSON.
/// @param options  LearnerOptions as JSON
/// @param measures  times are wanted; else a few steps tell the order of the parameters
/// @returns an exit code
int describe_to_stdout(const std::string& options, bool measures);

}  // namespace thinpipe
