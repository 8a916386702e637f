// The models of the catalogue as libtorch modules, the gradients of their mini-batches, and when
// each was ready.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <torch/nn/module.h>

#include "workloads/trace/trace.h"
#include "workloads/training/batches.h"

namespace thinpipe {

/// State that a recurrent model hands from one step to the next of the same worker; empty at first,
/// and always for other models.
struct Carry {
  torch::Tensor hidden;
  torch::Tensor cell;
};

class TrainableModel : public torch::nn::Module {
 public:
  /// Scores of every class for every image, [batch, classes], or of every symbol for every place of
  /// the text, [batch x time, symbols].
  virtual torch::Tensor scores(const torch::Tensor& inputs, Carry& carry) = 0;
};

/// Mean cross-entropy over a mini-batch's images or places.
torch::Tensor mean_loss(const torch::Tensor& scores, const torch::Tensor& targets);

/// Channels or units times a width, rounded, at least one.
std::int64_t scaled(std::int64_t count, double width);

// Weights are drawn from libtorch's generator (torch::manual_seed) as each class says
// (image_models.cc, text_models.cc).
std::shared_ptr<TrainableModel> make_lenet5();
/// @param blocks  of each of the three groups: 6 blocks + 2 layers
std::shared_ptr<TrainableModel> make_cifar_resnet(int blocks);
std::shared_ptr<TrainableModel> make_vgg16(double width);
std::shared_ptr<TrainableModel> make_charlstm();
std::shared_ptr<TrainableModel> make_wordlstm(double width);
std::shared_ptr<TrainableModel> make_gpt(double width);

/// By its name in the catalogue.
/// @throws InputError for an unknown name, or a width where the model has none
std::shared_ptr<TrainableModel> make_model(std::string_view name, double width = 1);

/// Symbols that a model of text reads in a step.
std::size_t text_time(std::string_view name);

/// Lets libtorch and the BLAS below it use one thread, as one emulated worker has.
void use_one_thread();

/// A model that is trained.
class NeuralNetwork {
 public:
  /// Seeds libtorch's generator and draws the weights: equal names, widths and seeds give equal
  /// bits.
  NeuralNetwork(std::string_view model, double width, std::uint64_t seed);
  NeuralNetwork(const NeuralNetwork&) = delete;  // the hooks hold `this`
  NeuralNetwork& operator=(const NeuralNetwork&) = delete;

  TrainableModel& model() { return *model_; }
  const std::vector<std::string>& names() const { return names_; }
  /// One a name, contiguous float; writing into them (without autograd) trains the model.
  const std::vector<torch::Tensor>& parameters() const { return parameters_; }

  /// Forward and backward pass.
  /// @param gradients  one a parameter, contiguous float, of the mini-batch's mean loss
  TraceStepTimes compute(const Batch& batch, Carry& carry, std::vector<torch::Tensor>& gradients);

  /// q_i = sum over the samples z of (grad_i f_z / |B|)^2, one tensor a parameter, at the present
  /// parameters (Tsuzuku et al. 2018, sec. 4); a backward pass for every sample. For models whose
  /// samples are independent.
  std::vector<torch::Tensor> squares(const Batch& batch);

 private:
  std::shared_ptr<TrainableModel> model_;
  std::vector<std::string> names_;
  std::vector<torch::Tensor> parameters_;
  // Written by the hooks while a backward pass runs.
  std::chrono::steady_clock::time_point backward_start_;
  std::vector<double> ready_;
};

}  // namespace thinpipe
