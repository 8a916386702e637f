// The text models: LSTMs of characters and of words, and a GPT of characters.
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <torch/nn/init.h>
#include <torch/nn/module.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/types.h>

#include "workloads/data/text_corpus.h"
#include "workloads/training/model.h"

namespace thinpipe {
namespace {

namespace nn = torch::nn;

/// Stacked LSTM layers, with one or two biases a layer. The cell is that of Hochreiter and
/// Schmidhuber 1997 with a forget gate, as in libtorch and TensorFlow. Parameters have libtorch's
/// names: weight_ih_l0, weight_hh_l0, bias_ih_l0 (bias_hh_l0), ...
class StackedLstm : public nn::Module {
 public:
  /// Draws parameters uniformly from +-1/sqrt(units), like libtorch.
  /// @param two_biases  true: two biases that are added, as in libtorch's cell; false: bias_ih
  ///        only, as in the original cell
  StackedLstm(std::int64_t units, std::int64_t layers, bool two_biases)
      : units_(units), layers_(layers) {
    for (std::int64_t layer = 0; layer < layers; ++layer) {
      const std::string suffix = "_l" + std::to_string(layer);
      for (const char* name : {"weight_ih", "weight_hh"})
        weights_.push_back(register_parameter(name + suffix, torch::empty({4 * units, units})));
      weights_.push_back(register_parameter("bias_ih" + suffix, torch::empty({4 * units})));
      // A second bias of zeros without training equals no second bias.
      const torch::Tensor second = torch::zeros({4 * units});
      weights_.push_back(two_biases ? register_parameter("bias_hh" + suffix, second) : second);
    }
    const double bound = 1 / std::sqrt(static_cast<double>(units));
    for (torch::Tensor& parameter : parameters()) nn::init::uniform_(parameter, -bound, bound);
  }

  /// Returns the outputs of the last layer, of the inputs' shape.
  /// @param inputs  [batch, time, units]
  /// @param carry  initial state, zeros if empty; set to the next step's initial state, detached
  ///        from the graph (truncated back-propagation)
  torch::Tensor forward(const torch::Tensor& inputs, Carry& carry) {
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

 private:
  std::int64_t units_;
  std::int64_t layers_;
  std::vector<torch::Tensor> weights_;  // in the order of torch::lstm
};

// The recurrent models of SBC (sec. IV-A and appendix): a trained embedding, two LSTM layers, a
// linear layer back to the symbols. There is no dropout, which would hide a compressor's effect.
//
// CharLSTM: 98 symbols, 200 units, libtorch's two biases a layer: 682,498 parameters.
// WordLSTM: 10,000 words, 650 units, one bias a layer, drawn from +-0.05 as in configuration
// "medium" of TensorFlow's PTB tutorial: 19,775,200 parameters.
class TextLstm : public TrainableModel {
 public:
  TextLstm(std::int64_t symbols, std::int64_t units, bool two_biases)
      : embedding_(register_module("embedding", nn::Embedding(symbols, units))),
        lstm_(register_module("lstm", std::make_shared<StackedLstm>(units, 2, two_biases))),
        decoder_(register_module("decoder", nn::Linear(units, symbols))) {
    const torch::NoGradGuard no_grad;
    nn::init::uniform_(embedding_->weight, -0.1, 0.1);
  }

  torch::Tensor scores(const torch::Tensor& inputs, Carry& carry) override {
    return decoder_(lstm_->forward(embedding_(inputs), carry)).flatten(0, 1);
  }

 private:
  nn::Embedding embedding_;
  std::shared_ptr<StackedLstm> lstm_;
  nn::Linear decoder_;
};

constexpr int kGptLayers = 4;
constexpr std::int64_t kGptHeads = 4;
constexpr std::int64_t kGptUnitsAHead = 32;
constexpr double kGptDeviation = 0.02;

class GptBlock : public nn::Module {
 public:
  GptBlock(std::int64_t heads, std::int64_t units)
      : heads_(heads),
        ln_1_(register_module("ln_1", nn::LayerNorm(nn::LayerNormOptions({units})))) {
    auto attention = register_module("attn", std::make_shared<nn::Module>());
    attention_in_ = attention->register_module("c_attn", nn::Linear(units, 3 * units));
    attention_out_ = attention->register_module("c_proj", nn::Linear(units, units));
    ln_2_ = register_module("ln_2", nn::LayerNorm(nn::LayerNormOptions({units})));
    auto mlp = register_module("mlp", std::make_shared<nn::Module>());
    mlp_in_ = mlp->register_module("c_fc", nn::Linear(units, 4 * units));
    mlp_out_ = mlp->register_module("c_proj", nn::Linear(4 * units, units));
  }

  // Draws the weights in a fixed order.
  void draw() {
    const double residual = kGptDeviation / std::sqrt(2.0 * kGptLayers);
    nn::init::normal_(attention_in_->weight, 0, kGptDeviation);
    nn::init::normal_(attention_out_->weight, 0, residual);
    nn::init::normal_(mlp_in_->weight, 0, kGptDeviation);
    nn::init::normal_(mlp_out_->weight, 0, residual);
    for (const nn::Linear& linear : {attention_in_, attention_out_, mlp_in_, mlp_out_})
      nn::init::zeros_(linear->bias);
  }

  /// @param later  [time, time], true for the positions that attention must not use
  torch::Tensor forward(torch::Tensor x, const torch::Tensor& later) {
    x = x + attend(ln_1_(x), later);
    return x + mlp_out_(torch::gelu(mlp_in_(ln_2_(x)), "tanh"));
  }

 private:
  torch::Tensor attend(const torch::Tensor& x, const torch::Tensor& later) {
    const std::int64_t batch = x.size(0);
    const std::int64_t time = x.size(1);
    const std::int64_t units = x.size(2);
    const auto parts = attention_in_(x).split(units, 2);
    const auto by_head = [&](const torch::Tensor& part) {
      return part.view({batch, time, heads_, units / heads_}).transpose(1, 2);
    };
    const double scale = 1 / std::sqrt(static_cast<double>(units / heads_));
    torch::Tensor weights = torch::matmul(by_head(parts[0]), by_head(parts[1]).transpose(2, 3));
    weights = weights * scale;
    weights = weights.masked_fill(later, -std::numeric_limits<float>::infinity()).softmax(3);
    const torch::Tensor seen = torch::matmul(weights, by_head(parts[2]));
    return attention_out_(seen.transpose(1, 2).reshape({batch, time, units}));
  }

  std::int64_t heads_;
  nn::LayerNorm ln_1_;
  nn::Linear attention_in_{nullptr};
  nn::Linear attention_out_{nullptr};
  nn::LayerNorm ln_2_{nullptr};
  nn::Linear mlp_in_{nullptr};
  nn::Linear mlp_out_{nullptr};
};

// A small GPT on characters with the architecture of GPT-2 (Radford et al. 2019, sec. 2.3).
// Normalisation comes before each block, and the embedding and the output share their weights. The
// initial weights of residual projections are smaller by the square root of the number of these
// projections. The model has four layers of 128 units, four heads and 64 symbols of context:
// 814,080 parameters. There is no dropout.
class Gpt : public TrainableModel {
 public:
  Gpt(std::int64_t time, std::int64_t units)
      : wte_(register_module("wte", nn::Embedding(static_cast<std::int64_t>(kTextSymbols), units))),
        wpe_(register_module("wpe", nn::Embedding(time, units))),
        later_(torch::ones({time, time}, torch::kBool).triu(1)) {
    auto layers = register_module("h", std::make_shared<nn::Module>());
    for (int layer = 0; layer < kGptLayers; ++layer)
      blocks_.push_back(layers->register_module(std::to_string(layer),
                                                std::make_shared<GptBlock>(kGptHeads, units)));
    ln_f_ = register_module("ln_f", nn::LayerNorm(nn::LayerNormOptions({units})));
    const torch::NoGradGuard no_grad;
    nn::init::normal_(wte_->weight, 0, kGptDeviation);
    nn::init::normal_(wpe_->weight, 0, kGptDeviation);
    for (const auto& block : blocks_) block->draw();
  }

  torch::Tensor scores(const torch::Tensor& inputs, Carry& /*carry*/) override {
    torch::Tensor x = wte_(inputs) + wpe_->weight;
    for (const auto& block : blocks_) x = block->forward(x, later_);
    return torch::matmul(ln_f_(x), wte_->weight.t()).flatten(0, 1);
  }

 private:
  nn::Embedding wte_;
  nn::Embedding wpe_;
  torch::Tensor later_;
  std::vector<std::shared_ptr<GptBlock>> blocks_;
  nn::LayerNorm ln_f_{nullptr};
};

}  // namespace

std::shared_ptr<TrainableModel> make_charlstm() {
  return std::make_shared<TextLstm>(static_cast<std::int64_t>(kTextSymbols), 200, true);
}

std::shared_ptr<TrainableModel> make_wordlstm(double width) {
  auto model =
      std::make_shared<TextLstm>(static_cast<std::int64_t>(kVocabulary), scaled(650, width), false);
  const torch::NoGradGuard no_grad;
  for (auto& parameter : model->parameters()) nn::init::uniform_(parameter, -0.05, 0.05);
  return model;
}

std::shared_ptr<TrainableModel> make_gpt(double width) {
  return std::make_shared<Gpt>(static_cast<std::int64_t>(text_time("gpt")),
                               kGptHeads * scaled(kGptUnitsAHead, width));
}

}  // namespace thinpipe
