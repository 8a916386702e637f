#include "workloads/training/model.h"

#include <algorithm>
#include <cassert>
#include <cmath>

#include <torch/types.h>

#include "workloads/models/catalogue.h"

namespace thinpipe {

torch::Tensor mean_loss(const torch::Tensor& scores, const torch::Tensor& targets) {
  return torch::cross_entropy_loss(scores, targets.flatten());
}

std::shared_ptr<TrainableModel> make_model(std::string_view name, double width) {
  const ModelInfo& info = find_trainable_model(name);
  assert((width == 1 || info.training->has_width) && "parse_learner_options() lets none through");
  if (info.name == "lenet5") return make_lenet5();
  if (info.name == "resnet20") return make_cifar_resnet(3);
  if (info.name == "resnet32") return make_cifar_resnet(5);
  if (info.name == "vgg16-cifar") return make_vgg16(width);
  if (info.name == "charlstm") return make_charlstm();
  if (info.name == "wordlstm") return make_wordlstm(width);
  assert(info.name == "gpt" && "a model of the catalogue has no module");
  return make_gpt(width);
}

std::int64_t scaled(std::int64_t count, double width) {
  return std::max<std::int64_t>(1, std::llround(static_cast<double>(count) * width));
}

// The LSTMs' is the unrolling of the "medium" configuration that SBC's authors adapted (app.).
std::size_t text_time(std::string_view name) { return name == "gpt" ? 64 : 35; }

}  // namespace thinpipe
