// Synchronous data-parallel SGD, its workers one after another in one process.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <torch/optim/sgd.h>

#include "workloads/capture/options.h"
#include "workloads/trace/trace.h"
#include "workloads/training/batch.h"
#include "workloads/training/model.h"

namespace thinpipe {

/// Lets libtorch and the BLAS below it use one thread, as one emulated worker has.
void use_one_thread();

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
/// Batch normalisation normalises with the worker's own mini-batch.
class Trainer {
 public:
  /// Seeds libtorch's generator with the options' seed and draws the weights.
  Trainer(const CaptureOptions& options, std::unique_ptr<BatchSource> batches);
  Trainer(const Trainer&) = delete;
  Trainer& operator=(const Trainer&) = delete;

  const std::vector<std::string>& names() const { return names_; }
  const std::vector<torch::Tensor>& parameters() const { return parameters_; }
  const BatchSource& batches() const { return *batches_; }

  /// Called for every worker of a step, in order, before the parameters change. It may throw.
  using Observer = std::function<void(const WorkerStep&)>;

  /// One step. @return the mean of the workers' losses
  double step(const Observer& observer = {});

  /// q_i = sum over the samples z of (grad_i f_z / |B|)^2, one tensor a parameter, at the present
  /// parameters (Tsuzuku et al. 2018, sec. 4); a backward pass for every sample. For models whose
  /// samples are independent.
  std::vector<torch::Tensor> squares(const Batch& batch);

 private:
  WorkerStep run_worker(std::size_t worker);
  void update(const std::vector<torch::Tensor>& sums);

  std::size_t workers_;
  std::unique_ptr<BatchSource> batches_;
  std::shared_ptr<TrainableModel> model_;
  std::vector<std::string> names_;
  std::vector<torch::Tensor> parameters_;
  std::unique_ptr<torch::optim::SGD> optimizer_;
  std::vector<Carry> carries_;
  // Written by the hooks while a backward pass runs.
  std::chrono::steady_clock::time_point backward_start_;
  std::vector<double> ready_;
};

}  // namespace thinpipe
