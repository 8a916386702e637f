#include "workloads/training/trainer.h"

#include <utility>

#include <torch/types.h>

namespace thinpipe {

namespace {

OptimiserSpec optimiser_of(const CaptureOptions& options) {
  OptimiserSpec spec;
  spec.learning_rate = options.learning_rate;
  spec.momentum = options.momentum;
  spec.weight_decay = options.weight_decay;
  return spec;
}

}  // namespace

Trainer::Trainer(const CaptureOptions& options, std::unique_ptr<BatchSource> batches)
    : workers_(options.workers),
      batches_(std::move(batches)),
      network_(options.model, 1, options.seed),
      optimiser_(optimiser_of(options), network_.parameters()),
      carries_(options.workers) {}

double Trainer::step(const Observer& observer) {
  std::vector<torch::Tensor> sums;
  double loss = 0;
  for (std::size_t worker = 0; worker < workers_; ++worker) {
    WorkerStep result;
    result.worker = worker;
    result.batch = batches_->at(worker, step_);
    result.times = network_.compute(result.batch, carries_[worker], result.gradients);
    loss += result.times.loss;
    if (observer) observer(result);
    if (worker == 0) {
      for (const torch::Tensor& gradient : result.gradients) sums.push_back(gradient.clone());
    } else {
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i].add_(result.gradients[i]);
    }
  }
  for (torch::Tensor& sum : sums) sum.div_(static_cast<double>(workers_));
  optimiser_.step(sums);
  ++step_;
  return loss / static_cast<double>(workers_);
}

}  // namespace thinpipe
