// The models of the catalogue as libtorch modules.
#pragma once

#include <memory>
#include <string_view>

#include <torch/nn.h>

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
  /// Mean cross-entropy over the mini-batch.
  virtual torch::Tensor loss(const Batch& batch, Carry& carry) = 0;
};

std::shared_ptr<TrainableModel> make_lenet5();
std::shared_ptr<TrainableModel> make_charlstm();
std::shared_ptr<TrainableModel> make_resnet20();

/// By its name in the catalogue; weights are drawn from libtorch's generator (torch::manual_seed).
/// @throws InputError for an unknown name.
std::shared_ptr<TrainableModel> make_model(std::string_view name);

}  // namespace thinpipe
