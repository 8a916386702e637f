#include "workloads/training/trainer.h"

#include <cmath>

#include <torch/types.h>
#include <torch/utils.h>

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

ParameterOptimiser::ParameterOptimiser(const OptimiserSpec& spec,
                                       std::vector<at::Tensor> parameters)
    : spec_(spec), parameters_(std::move(parameters)) {
  std::vector<std::string> names = {"mean", "square"};
  if (spec.rule == OptimiserSpec::Rule::kSgd || spec.rule == OptimiserSpec::Rule::kSignum)
    names = spec.momentum > 0 ? std::vector<std::string>{"momentum"} : std::vector<std::string>{};
  for (const std::string& name : names) {
    std::vector<at::Tensor> zeros;
    for (const at::Tensor& parameter : parameters_)
      zeros.push_back(torch::zeros(parameter.sizes()));
    buffers_.emplace_back(name, std::move(zeros));
  }
}

void ParameterOptimiser::step(const std::vector<at::Tensor>& gradients, double rate_factor) {
  const torch::NoGradGuard no_grad;
  ++updates_;
  const double rate = spec_.learning_rate * rate_factor;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    at::Tensor gradient = gradients[i];
    const bool adds_decay =
        spec_.rule == OptimiserSpec::Rule::kSgd || spec_.rule == OptimiserSpec::Rule::kAdam;
    if (spec_.weight_decay != 0 && adds_decay)
      gradient = gradient.add_(parameters_[i], spec_.weight_decay);
    if (spec_.rule == OptimiserSpec::Rule::kSgd) {
      sgd(i, gradient, rate);
    } else if (spec_.rule == OptimiserSpec::Rule::kSignum) {
      signum(i, gradient, rate);
    } else {
      adam(i, gradient, rate);
    }
  }
}

void ParameterOptimiser::sgd(std::size_t index, at::Tensor gradient, double rate) {
  if (spec_.momentum > 0) {
    at::Tensor& velocity = buffers_[0].second[index];
    velocity.mul_(spec_.momentum).add_(gradient);
    gradient = spec_.nesterov ? gradient.add_(velocity, spec_.momentum) : velocity;
  }
  parameters_[index].add_(gradient, -rate);
}

void ParameterOptimiser::adam(std::size_t index, at::Tensor gradient, double rate) {
  at::Tensor& parameter = parameters_[index];
  if (spec_.rule == OptimiserSpec::Rule::kAdamW && spec_.weight_decay != 0)
    parameter.mul_(1 - rate * spec_.weight_decay);
  at::Tensor& mean = buffers_[0].second[index];
  at::Tensor& square = buffers_[1].second[index];
  mean.mul_(spec_.beta1).add_(gradient, 1 - spec_.beta1);
  square.mul_(spec_.beta2).addcmul_(gradient, gradient, 1 - spec_.beta2);
  const auto count = static_cast<double>(updates_);
  const double mean_share = 1 - std::pow(spec_.beta1, count);
  const double square_share = 1 - std::pow(spec_.beta2, count);
  const at::Tensor denominator = (square.sqrt() / std::sqrt(square_share)).add_(spec_.epsilon);
  parameter.addcdiv_(mean, denominator, -rate / mean_share);
}

void ParameterOptimiser::signum(std::size_t index, at::Tensor gradient, double rate) {
  if (spec_.momentum > 0) {
    at::Tensor& velocity = buffers_[0].second[index];
    velocity.mul_(spec_.momentum).add_(gradient, 1 - spec_.momentum);
    gradient = velocity;
  }
  at::Tensor& parameter = parameters_[index];
  if (spec_.weight_decay != 0) parameter.mul_(1 - rate * spec_.weight_decay);
  parameter.add_(gradient.sign(), -rate);
}

void clip_norm(std::vector<at::Tensor>& gradients, double most) {
  double squares = 0;
  for (const at::Tensor& gradient : gradients) {
    auto norm = gradient.norm().item<double>();
    // An element is not finite, or the squares are too large for 32 bits.
    if (!std::isfinite(norm))
      norm = gradient.to(at::kDouble).nan_to_num(0, 0, 0).norm().item<double>();
    squares += norm * norm;
  }
  const double norm = std::sqrt(squares);
  if (norm <= most) return;
  for (at::Tensor& gradient : gradients) gradient.mul_(most / norm);
}

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
    TrainerStep result;
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
