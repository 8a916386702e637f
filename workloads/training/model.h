// The trainable models of the catalogue as libtorch modules, with the gradients of mini-batches and
// their ready times.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <torch/nn/module.h>

#include "workloads/trace/trace.h"
#include "workloads/training/batches.h"

namespace thinpipe {

/// State that a recurrent model carries from one step to the next step of the same worker. It is
/// empty before the first step, and always empty for models that are not recurrent.
struct Carry {
  torch::Tensor hidden;
  torch::Tensor cell;
};

class TrainableModel : public torch::nn::Module {
 public:
  /// Returns the scores of every class for every image, [batch, classes], or of every symbol for
  /// every text position, [batch x time, symbols].
  virtual torch::Tensor scores(const torch::Tensor& inputs, Carry& carry) = 0;
};

/// Returns the values of a contiguous tensor of float, in the tensor's own memory.
inline std::span<float> floats_of(const torch::Tensor& tensor) {
  return {tensor.data_ptr<float>(), static_cast<std::size_t>(tensor.numel())};
}

/// Returns the mean cross-entropy over a mini-batch's images or text positions.
torch::Tensor mean_loss(const torch::Tensor& scores, const torch::Tensor& targets);

/// Returns a number of channels or units times a width, rounded, at least one.
std::int64_t scaled(std::int64_t count, double width);

// Weights are drawn from libtorch's generator (torch::manual_seed), as described at each class in
// image_models.cc and text_models.cc.
std::shared_ptr<TrainableModel> make_lenet5();
/// @param blocks  blocks in each of the three groups; the network has 6 blocks + 2 layers
std::shared_ptr<TrainableModel> make_cifar_resnet(int blocks);
std::shared_ptr<TrainableModel> make_vgg16(double width);
std::shared_ptr<TrainableModel> make_charlstm();
std::shared_ptr<TrainableModel> make_wordlstm(double width);
std::shared_ptr<TrainableModel> make_gpt(double width);

/// Returns a model by its name in the catalogue.
/// @throws InputError for an unknown name, or a width for a model without widths
std::shared_ptr<TrainableModel> make_model(std::string_view name, double width = 1);

/// Returns the symbols that a text model reads in a step.
std::size_t text_time(std::string_view name);

/// Limits libtorch and its BLAS to one thread, as for one emulated worker.
void use_one_thread();

/// A model in training.
class NeuralNetwork {
 public:
  /// Seeds libtorch's generator and draws the weights: equal names, widths and seeds give equal
  /// bits.
  NeuralNetwork(std::string_view model, double width, std::uint64_t seed);
  NeuralNetwork(const NeuralNetwork&) = delete;  // the hooks hold `this`
  NeuralNetwork& operator=(const NeuralNetwork&) = delete;

  TrainableModel& model() { return *model_; }
  const std::vector<std::string>& names() const { return names_; }
  /// Returns one tensor a name, contiguous float. Writing into them (without autograd) changes the
  /// model.
  const std::vector<torch::Tensor>& parameters() const { return parameters_; }

  /// Runs the forward and backward pass and returns its times.
  /// @param gradients  set to the gradients of the mini-batch's mean loss: one a parameter,
  ///        contiguous float
  TraceStepTimes compute(const Batch& batch, Carry& carry, std::vector<torch::Tensor>& gradients);

  /// Returns q_i = sum over the samples z of (grad_i f_z / |B|)^2, one tensor a parameter, at the
  /// current parameters (Tsuzuku et al. 2018, sec. 4). Takes a backward pass for every sample. Only
  /// for models whose samples are independent.
  std::vector<torch::Tensor> squares(const Batch& batch);

 private:
  std::shared_ptr<TrainableModel> model_;
  std::vector<std::string> names_;
  std::vector<torch::Tensor> parameters_;
  // Written by the hooks during a backward pass.
  std::chrono::steady_clock::time_point backward_start_;
  std::vector<double> ready_;
};

}  // namespace thinpipe
