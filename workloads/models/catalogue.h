// The models that can be trained for a capture. Free of libtorch, so that help can list them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace thinpipe {

/// What a model is trained on.
enum class DataKind {
  kDigits,  ///< 28x28 grey images of ten classes (MNIST's form)
  kColour,  ///< 32x32 images of three channels and ten classes (CIFAR-10's form)
  kText,    ///< a sequence of symbols
};

struct ModelInfo {
  std::string name;
  std::string description;  ///< one line, with its source
  std::size_t parameters = 0;
  std::size_t tensors = 0;
  DataKind data = DataKind::kDigits;
  std::size_t batch = 0;     ///< default mini-batch of one worker
  double learning_rate = 0;  ///< default
  double momentum = 0;       ///< default
  /// A sample's gradient does not depend on the rest of its mini-batch, nor on steps before.
  bool independent_samples = false;
};

const std::vector<ModelInfo>& model_catalogue();

/// @throws InputError naming the nearest model.
const ModelInfo& find_model(std::string_view name);

}  // namespace thinpipe
