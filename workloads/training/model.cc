#include "workloads/training/model.h"

#include <cassert>

#include <torch/types.h>

#include "workloads/models/catalogue.h"

namespace thinpipe {

torch::Tensor mean_loss(const torch::Tensor& scores, const torch::Tensor& targets) {
  return torch::cross_entropy_loss(scores, targets.flatten());
}

std::shared_ptr<TrainableModel> make_model(std::string_view name, [[maybe_unused]] double width) {
  const ModelInfo& info = find_trainable_model(name);
  assert((width == 1 || info.training->has_width) && "parse_learner_options() lets none through");
  if (info.name == "lenet5") return make_lenet5();
  if (info.name == "charlstm") return make_charlstm();
  assert(info.name == "resnet20" && "a model of the catalogue has no module");
  return make_cifar_resnet(3);
}

// The unrolling of the "medium" configuration that SBC's authors adapted (app., CharLSTM).
std::size_t text_time(std::string_view /*name*/) { return 35; }

}  // namespace thinpipe
