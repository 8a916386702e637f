// Synchronous data-parallel SGD, its workers one after another in one process.
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

/// Updates parameters by a mean gradient. The rules are those that OptimiserSpec writes down, in
/// libtorch's arithmetic and its order: bit for bit what torch::optim does.
class ParameterOptimiser {
 public:
  /// @param parameters  written by step(); contiguous float
  ParameterOptimiser(const OptimiserSpec& spec, std::vector<at::Tensor> parameters);

  /// One update. @param gradients  one a parameter, of its shape; overwritten
  /// @param rate_factor  what the learning rate is multiplied by
  void step(const std::vector<at::Tensor>& gradients, double rate_factor = 1);

  /// State that the next updates depend on besides the parameters: buffers, each one tensor a
  /// parameter, under their names ("momentum"), and the number of updates so far. Both may be
  /// written.
  std::vector<std::pair<std::string, std::vector<at::Tensor>>>& buffers() { return buffers_; }
  std::int64_t updates() const { return updates_; }
  void set_updates(std::int64_t updates) { updates_ = updates; }

 private:
  void sgd(std::size_t index, at::Tensor gradient, double rate);
  void adam(std::size_t index, at::Tensor gradient, double rate);

  OptimiserSpec spec_;
  std::vector<at::Tensor> parameters_;
  std::vector<std::pair<std::string, std::vector<at::Tensor>>> buffers_;
  std::int64_t updates_ = 0;
};

/// Scales the gradients so that their norm, all taken together, is at most `most` (Pascanu et al.
/// 2013). Norms that are not finite are left alone.
void clip_norm(std::vector<at::Tensor>& gradients, double most);

/// One worker's results of one step.
struct WorkerStep {
  std::size_t worker = 0;
  TraceStepTimes times;
  std::vector<torch::Tensor>
      gradients;  ///< one a parameter, contiguous float, of its mini-batch's mean
  Batch batch;
};

/// Synchronous data-parallel SGD. In each step every worker computes the gradient of its own
/// mini-batch at the same parameters; the mean of the gradients updates them by SGD with momentum
/// (v <- m v + g, w <- w - lr v). As the workers take turns, none slows another down and each one's
/// times are those it would have alone. Batch normalisation normalises with the worker's own
/// mini-batch. One worker of many processes is a Learner (learner.h).
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
