// The recurrent models of SBC (sec. IV-A and appendix): a trained embedding, two LSTM layers, a
// linear layer back to the symbols. Dropout is left out: it hides what a compressor does.
//
// CharLSTM: 98 symbols, 200 units, libtorch's two biases a layer: 682,498 parameters.
// WordLSTM: 10,000 words, 650 units, one bias a layer, drawn from +-0.05 as in configuration
// "medium" of TensorFlow's PTB tutorial: 19,775,200 parameters.
#include <torch/nn/init.h>
#include <torch/nn/modules/embedding.h>
#include <torch/nn/modules/linear.h>

#include "workloads/data/text_corpus.h"
#include "workloads/training/model.h"
#include "workloads/training/stacked_lstm.h"

namespace thinpipe {

namespace {

namespace nn = torch::nn;

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

}  // namespace thinpipe
