#include "workloads/training/stacked_lstm.h"

#include <cmath>
#include <string>

#include <torch/nn/init.h>
#include <torch/types.h>

namespace thinpipe {

StackedLstm::StackedLstm(std::int64_t units, std::int64_t layers, bool two_biases)
    : units_(units), layers_(layers) {
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const std::string suffix = "_l" + std::to_string(layer);
    for (const char* name : {"weight_ih", "weight_hh"}) {
      weights_.push_back(register_parameter(name + suffix, torch::empty({4 * units, units})));
    }
    weights_.push_back(register_parameter("bias_ih" + suffix, torch::empty({4 * units})));
    // A second bias of zeros that nobody learns is the same as none.
    const torch::Tensor second = torch::zeros({4 * units});
    weights_.push_back(two_biases ? register_parameter("bias_hh" + suffix, second) : second);
  }
  const double bound = 1 / std::sqrt(static_cast<double>(units));
  for (torch::Tensor& parameter : parameters()) {
    torch::nn::init::uniform_(parameter, -bound, bound);
  }
}

torch::Tensor StackedLstm::forward(const torch::Tensor& inputs, Carry& carry) {
  if (!carry.hidden.defined()) {
    const auto shape = {layers_, inputs.size(0), units_};
    carry = {torch::zeros(shape), torch::zeros(shape)};
  }
  const auto [outputs, hidden, cell] =
      torch::lstm(inputs, {carry.hidden, carry.cell}, weights_, /*has_biases=*/true, layers_,
                  /*dropout=*/0.0, is_training(), /*bidirectional=*/false, /*batch_first=*/true);
  carry = {hidden.detach(), cell.detach()};
  return outputs;
}

}  // namespace thinpipe
