// Synchronous data-parallel SGD, its workers one after another in one process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "workloads/capture/options.h"
#include "workloads/trace/trace.h"
#include "workloads/training/batch.h"
#include "workloads/training/neural_network.h"
#include "workloads/training/optimiser.h"

namespace thinpipe {

/// What one worker did in one step.
struct WorkerStep {
  std::size_t worker = 0;
  TraceStepTimes times;
  std::vector<torch::Tensor>
      gradients;  ///< one a parameter, contiguous float, of its mini-batch's mean
  Batch batch;
};

/// Each step: every worker computes the gradient of its own mini-batch at the same parameters; the
/// mean of the gradients updates them by SGD with momentum (v <- m v + g, w <- w - lr v). As the
/// workers take turns, none slows another down and each one's times are those it would have alone.
/// Batch normalisation normalises with the worker's own mini-batch. One worker of many processes is
/// a Learner (learner.h).
class Trainer {
 public:
  /// Seeds libtorch's generator with the options' seed and draws the weights.
  Trainer(const CaptureOptions& options, std::unique_ptr<BatchSource> batches);

  const std::vector<std::string>& names() const { return network_.names(); }
  const std::vector<torch::Tensor>& parameters() const { return network_.parameters(); }
  const BatchSource& batches() const { return *batches_; }

  /// Called for every worker of a step, in order, before the parameters change. It may throw.
  using Observer = std::function<void(const WorkerStep&)>;

  /// One step. @return the mean of the workers' losses
  double step(const Observer& observer = {});

  /// As NeuralNetwork::squares().
  std::vector<torch::Tensor> squares(const Batch& batch) { return network_.squares(batch); }

 private:
  std::size_t workers_;
  std::unique_ptr<BatchSource> batches_;
  NeuralNetwork network_;
  ParameterOptimiser optimiser_;
  std::vector<Carry> carries_;
  std::uint64_t step_ = 0;
};

}  // namespace thinpipe
