// The models of the catalogue as libtorch modules.
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>

#include <torch/nn/module.h>

#include "workloads/training/batch.h"

namespace thinpipe {

/// What a recurrent model hands from one step to the next of the same worker; empty at first, and
/// always for the others.
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

// Weights are drawn from libtorch's generator (torch::manual_seed) as each file says.
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

}  // namespace thinpipe
