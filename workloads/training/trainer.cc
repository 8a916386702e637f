#include "workloads/training/trainer.h"

#include <dlfcn.h>

#include <utility>

#include <torch/utils.h>

namespace thinpipe {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

void use_one_thread() {
  torch::set_num_threads(1);
  // Only OpenBLAS keeps threads of its own; whether it is there depends on the system's choice of
  // libblas.so.3, so it is asked for by name.
  using SetThreads = void (*)(int);
  if (void* symbol = dlsym(RTLD_DEFAULT, "openblas_set_num_threads")) {
    reinterpret_cast<SetThreads>(symbol)(1);
  }
}

Trainer::Trainer(const CaptureOptions& options, std::unique_ptr<BatchSource> batches)
    : workers_(options.workers), batches_(std::move(batches)), carries_(options.workers) {
  torch::manual_seed(options.seed);
  model_ = make_model(options.model);
  model_->train();
  for (const auto& item : model_->named_parameters()) {
    const std::size_t index = names_.size();
    names_.push_back(item.key());
    parameters_.push_back(item.value());
    // A hook on a parameter runs when its whole gradient of this backward pass has been computed.
    item.value().register_hook(
        [this, index](const torch::Tensor&) { ready_[index] = seconds_since(backward_start_); });
  }
  ready_.resize(names_.size());
  optimizer_ = std::make_unique<torch::optim::SGD>(parameters_,
                                                   torch::optim::SGDOptions(options.learning_rate)
                                                       .momentum(options.momentum)
                                                       .weight_decay(options.weight_decay));
}

WorkerStep Trainer::run_worker(std::size_t worker) {
  WorkerStep result;
  result.worker = worker;
  result.batch = batches_->next(worker);

  const Clock::time_point forward_start = Clock::now();
  const torch::Tensor loss = model_->loss(result.batch, carries_[worker]);
  result.times.forward = seconds_since(forward_start);

  backward_start_ = Clock::now();
  loss.backward();
  result.times.backward = seconds_since(backward_start_);
  result.times.ready = ready_;
  result.times.loss = loss.item<double>();

  for (torch::Tensor& parameter : parameters_) {
    result.gradients.push_back(parameter.grad().contiguous());
    parameter.mutable_grad().reset();  // the next worker starts from nothing
  }
  return result;
}

std::vector<torch::Tensor> Trainer::squares(const Batch& batch) {
  std::vector<torch::Tensor> sums;
  for (const torch::Tensor& parameter : parameters_) sums.push_back(torch::zeros_like(parameter));
  const std::int64_t samples = batch.targets.size(0);
  for (std::int64_t z = 0; z < samples; ++z) {
    Carry none;
    model_->loss({batch.inputs.narrow(0, z, 1), batch.targets.narrow(0, z, 1)}, none).backward();
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      torch::Tensor& gradient = parameters_[i].mutable_grad();
      sums[i].add_((gradient / static_cast<double>(samples)).square());
      gradient.reset();
    }
  }
  return sums;
}

void Trainer::update(const std::vector<torch::Tensor>& sums) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    parameters_[i].mutable_grad() = sums[i].div_(static_cast<double>(workers_));
  }
  optimizer_->step();
  for (torch::Tensor& parameter : parameters_) parameter.mutable_grad().reset();
}

double Trainer::step(const Observer& observer) {
  std::vector<torch::Tensor> sums;
  double loss = 0;
  for (std::size_t worker = 0; worker < workers_; ++worker) {
    const WorkerStep result = run_worker(worker);
    loss += result.times.loss;
    if (observer) observer(result);
    if (worker == 0) {
      for (const torch::Tensor& gradient : result.gradients) sums.push_back(gradient.clone());
    } else {
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i].add_(result.gradients[i]);
    }
  }
  update(sums);
  return loss / static_cast<double>(workers_);
}

}  // namespace thinpipe
