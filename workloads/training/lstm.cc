// CharLSTM (SBC, sec. IV-A and appendix): trained embedding of 98 symbols, two LSTM layers of 200
// units, a linear layer back to the symbols. libtorch's cell has two bias vectors where the
// original has one; with them there are 682,498 parameters. Dropout is left out.
#include <tuple>

#include <torch/nn/init.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/rnn.h>

#include "workloads/data/text_corpus.h"
#include "workloads/training/model.h"

namespace thinpipe {

namespace {

namespace nn = torch::nn;

constexpr std::int64_t kUnits = 200;
constexpr std::int64_t kSymbols = static_cast<std::int64_t>(kTextSymbols);

class CharLstm : public TrainableModel {
 public:
  CharLstm()
      : embedding_(register_module("embedding", nn::Embedding(kSymbols, kUnits))),
        lstm_(register_module(
            "lstm", nn::LSTM(nn::LSTMOptions(kUnits, kUnits).num_layers(2).batch_first(true)))),
        decoder_(register_module("decoder", nn::Linear(kUnits, kSymbols))) {
    const torch::NoGradGuard no_grad;
    nn::init::uniform_(embedding_->weight, -0.1, 0.1);
  }

  torch::Tensor scores(const torch::Tensor& inputs, Carry& carry) override {
    const std::int64_t size = inputs.size(0);
    if (!carry.hidden.defined()) {
      carry = {torch::zeros({2, size, kUnits}), torch::zeros({2, size, kUnits})};
    }
    auto [output, state] = lstm_(embedding_(inputs), std::make_tuple(carry.hidden, carry.cell));
    // The values go on to the next step, the graph does not (truncated back-propagation).
    carry = {std::get<0>(state).detach(), std::get<1>(state).detach()};
    return decoder_(output).flatten(0, 1);
  }

 private:
  nn::Embedding embedding_;
  nn::LSTM lstm_;
  nn::Linear decoder_;
};

}  // namespace

std::shared_ptr<TrainableModel> make_charlstm() { return std::make_shared<CharLstm>(); }

}  // namespace thinpipe
