// Synchronous data-parallel SGD with sequential workers in one process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "workloads/capture/optimiser_spec.h"
#include "workloads/capture/options.h"
#include "workloads/trace/trace.h"
#include "workloads/training/batches.h"
#include "workloads/training/model.h"

namespace thinpipe {

/// Updates parameters by a mean gradient according to the rules of OptimiserSpec. Uses libtorch's
/// arithmetic in the same order, so that the results have the same bits as those of torch::optim
/// (which has no signum).
class ParameterOptimiser {
 public:
  /// @param parameters  updated by step(); contiguous float
  ParameterOptimiser(const OptimiserSpec& spec, std::vector<at::Tensor> parameters);

  /// Makes one update.
  /// @param gradients  one a parameter, of its shape; overwritten
  /// @param rate_factor  factor on the learning rate
  void step(const std::vector<at::Tensor>& gradients, double rate_factor = 1);

  /// State that the next updates depend on besides the parameters: named buffers ("momentum") of
  /// one tensor a parameter, and the number of updates so far. The caller may change both.
  std::vector<std::pair<std::string, std::vector<at::Tensor>>>& buffers() { return buffers_; }
  std::int64_t updates() const { return updates_; }
  void set_updates(std::int64_t updates) { updates_ = updates; }

 private:
  void sgd(std::size_t index, at::Tensor gradient, double rate);
  void adam(std::size_t index, at::Tensor gradient, double rate);
  void signum(std::size_t index, at::Tensor gradient, double rate);

  OptimiserSpec spec_;
  std::vector<at::Tensor> parameters_;
  std::vector<std::pair<std::string, std::vector<at::Tensor>>> buffers_;
  std::int64_t updates_ = 0;
};

/// Scales the gradients so that the joint norm of their finite elements is at most `most` (Pascanu
/// et al. 2013).
void clip_norm(std::vector<at::Tensor>& gradients, double most);

/// One worker's results of one step.
struct TrainerStep {
  std::size_t worker = 0;
  TraceStepTimes times;
  std::vector<torch::Tensor>
      gradients;  ///< one a parameter, contiguous float, of the mini-batch's mean loss
  Batch batch;
};

/// Synchronous data-parallel SGD. In each step every worker computes the gradient of its own
/// mini-batch at the same parameters, and the mean of the gradients updates them by SGD with
/// momentum (v <- m v + g, w <- w - lr v). The workers take turns, so that none slows another down
/// and each worker's times are those of a worker alone. Batch normalisation uses the worker's own
/// mini-batch. Learner (learner.h) is one worker of a run with many processes.
class Trainer {
 public:
  /// Seeds libtorch's generator with the options' seed and draws the weights.
  Trainer(const CaptureOptions& options, std::unique_ptr<BatchSource> batches);

  const std::vector<std::string>& names() const { return network_.names(); }
  const std::vector<torch::Tensor>& parameters() const { return network_.parameters(); }
  const BatchSource& batches() const { return *batches_; }

  /// Callback for every worker of a step, in order, before the parameters change. It may throw.
  using Observer = std::function<void(const TrainerStep&)>;

  /// Runs one step. @return the mean of the workers' losses
  double step(const Observer& observer = {});

  /// Returns NeuralNetwork::squares().
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
