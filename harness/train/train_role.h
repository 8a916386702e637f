// A rank that trains.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

#include "harness/worker/replay_role.h"
#include "workloads/replay/gradients.h"
#include "workloads/training/learner.h"

namespace thinpipe {

/// A rank that trains: a replay that computes its gradients instead of reading them. Answers these
/// messages in addition to those of a replay:
///   load {index, rate_factor} -> loaded {loss}: computes the gradient of that step's mini-batch
///   apply {index, digest}     -> applied {digest}: applies the step's aggregate to the parameters
///   evaluate                  -> evaluated {loss, accuracy, perplexity}: on rank 0 only
///   save {folder, step, id}   -> saved {}: writes this rank's file of a checkpoint
///   restore {folder, id}      -> restored {step}
///   dump {folder}             -> dumped {}: writes the last gradient, and second moments if there
///                                are any, as FP32 to the files gradient-RANK and squares-RANK
///
/// If all ranks exchange in every step without an outer optimiser, ranks exchange gradients, and
/// each worker's optimiser applies their mean. Otherwise, and with the option `updates`, workers
/// take local steps, and each step hands over the decrease of the parameters instead of a gradient.
/// After an exchange, all workers have the same parameters: those after the previous exchange minus
/// the mean of the workers' summed decreases, or minus the outer optimiser's update (FedAvg; SBC
/// alg. 1; DiLoCo alg. 1). With `ps:update=servers` workers have no optimiser. All workers add the
/// change of the model that the servers send (3LC, figure 2b).
class TrainRole : public ReplayRole {
 public:
  /// @param given  receives the gradients of the replay
  TrainRole(GivenGradients& given, std::unique_ptr<Learner> learner, const LearnerOptions& options,
            const RoleSettings& settings);
  nlohmann::json answer(const nlohmann::json& message) override;

 private:
  nlohmann::json compute(const nlohmann::json& message);
  nlohmann::json apply(const nlohmann::json& message);
  nlohmann::json evaluate();
  nlohmann::json save(const nlohmann::json& message);
  nlohmann::json restore(const nlohmann::json& message);
  nlohmann::json dump(const nlohmann::json& message);

  void take_gradient(std::uint64_t step);
  void take_local_step(std::uint64_t step);
  void remember_parameters();
  void mask_momentum();
  std::vector<std::span<const float>> mean_of_step();

  GivenGradients& given_;
  std::unique_ptr<Learner> learner_;
  bool servers_update_;                       ///< aggregates are changes of the model
  bool local_steps_;                          ///< workers take steps of their own
  std::vector<bool> masks_;                   ///< by parameter: the momentum where values were sent
  std::vector<bool> incremental_;             ///< by parameter
  std::vector<std::vector<float>> estimate_;  ///< of incremental parameters, else empty
  std::vector<std::vector<float>> agreed_;    ///< parameters after the last exchange; where workers
                                              ///< do not update them by the mean gradient
};

}  // namespace thinpipe
