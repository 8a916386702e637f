#include "workloads/training/model.h"

#include <dlfcn.h>

#include <algorithm>
#include <cassert>
#include <cmath>

#include <torch/types.h>
#include <torch/utils.h>

#include "base/clock.h"
#include "workloads/models/catalogue.h"

namespace thinpipe {

torch::Tensor mean_loss(const torch::Tensor& scores, const torch::Tensor& targets) {
  return torch::cross_entropy_loss(scores, targets.flatten());
}

std::shared_ptr<TrainableModel> make_model(std::string_view name, double width) {
  const ModelInfo& info = find_trainable_model(name);
  assert((width == 1 || info.training->has_width) && "parse_learner_options() lets none through");
  if (info.name == "lenet5") return make_lenet5();
  if (info.name == "resnet20") return make_cifar_resnet(3);
  if (info.name == "resnet32") return make_cifar_resnet(5);
  if (info.name == "vgg16-cifar") return make_vgg16(width);
  if (info.name == "charlstm") return make_charlstm();
  if (info.name == "wordlstm") return make_wordlstm(width);
  assert(info.name == "gpt" && "a model of the catalogue has no module");
  return make_gpt(width);
}

std::int64_t scaled(std::int64_t count, double width) {
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(count) * width));
}

// For LSTMs 35, the unrolling of the "medium" configuration that SBC's authors adapted (app.).
std::size_t text_time(std::string_view name) { return name == "gpt" ? 64 : 35; }

void use_one_thread() {
  torch::set_num_threads(1);
  // Only OpenBLAS has its own threads. The system's choice of libblas.so.3 decides whether OpenBLAS
  // is loaded, so its function is looked up by name.
  using SetThreads = void (*)(int);
  if (void* symbol = dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))
    reinterpret_cast<SetThreads>(symbol)(1);
}

NeuralNetwork::NeuralNetwork(std::string_view model, double width, std::uint64_t seed) {
  torch::manual_seed(seed);
  model_ = make_model(model, width);
  model_->train();
  for (const auto& item : model_->named_parameters()) {
    const std::size_t index = names_.size();
    names_.push_back(item.key());
    parameters_.push_back(item.value());
    // A hook on a parameter runs when its gradient of this backward pass is complete.
    item.value().register_hook(
        [this, index](const torch::Tensor&) { ready_[index] = seconds_since(backward_start_); });
  }
  ready_.resize(names_.size());
}

TraceStepTimes NeuralNetwork::compute(const Batch& batch, Carry& carry,
                                      std::vector<torch::Tensor>& gradients) {
  TraceStepTimes times;
  const auto forward_start = std::chrono::steady_clock::now();
  const torch::Tensor loss = mean_loss(model_->scores(batch.inputs, carry), batch.targets);
  times.forward = seconds_since(forward_start);

  backward_start_ = std::chrono::steady_clock::now();
  loss.backward();
  times.backward = seconds_since(backward_start_);
  times.ready = ready_;
  times.loss = loss.item<double>();

  gradients.clear();
  for (torch::Tensor& parameter : parameters_) {
    gradients.push_back(parameter.grad().contiguous());
    parameter.mutable_grad().reset();  // the next pass starts without a gradient
  }
  return times;
}

std::vector<torch::Tensor> NeuralNetwork::squares(const Batch& batch) {
  std::vector<torch::Tensor> sums;
  for (const torch::Tensor& parameter : parameters_) sums.push_back(torch::zeros_like(parameter));
  const std::int64_t samples = batch.targets.size(0);
  for (std::int64_t z = 0; z < samples; ++z) {
    Carry none;
    mean_loss(model_->scores(batch.inputs.narrow(0, z, 1), none), batch.targets.narrow(0, z, 1))
        .backward();
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      torch::Tensor& gradient = parameters_[i].mutable_grad();
      sums[i].add_((gradient / static_cast<double>(samples)).square());
      gradient.reset();
    }
  }
  return sums;
}

}  // namespace thinpipe
