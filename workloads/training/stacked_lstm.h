// LSTM layers one above the other, with one bias a layer or two.
#pragma once

#include <tuple>
#include <vector>

#include <torch/nn/module.h>

#include "workloads/training/model.h"

namespace thinpipe {

/// The cell of Hochreiter and Schmidhuber 1997 with a forget gate, as libtorch and TensorFlow have
/// it. Parameters have libtorch's names: weight_ih_l0, weight_hh_l0, bias_ih_l0 (bias_hh_l0), ...
class StackedLstm : public torch::nn::Module {
 public:
  /// Drawn uniformly from +-1/sqrt(units), as libtorch's.
  /// @param two_biases  libtorch's cell has two that are added; the original one, which is bias_ih
  StackedLstm(std::int64_t units, std::int64_t layers, bool two_biases);

  /// @param inputs  [batch, time, units]. @return outputs of the last layer, of the same shape
  /// @param carry  zeros where empty; after it what the next step starts from, without its graph
  /// (truncated back-propagation)
  torch::Tensor forward(const torch::Tensor& inputs, Carry& carry);

 private:
  std::int64_t units_;
  std::int64_t layers_;
  std::vector<torch::Tensor> weights_;  // as torch::lstm takes them
};

}  // namespace thinpipe
