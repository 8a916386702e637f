#include "workloads/training/model.h"

#include <cassert>

#include "workloads/models/catalogue.h"

namespace thinpipe {

std::shared_ptr<TrainableModel> make_model(std::string_view name) {
  const ModelInfo& info = find_trainable_model(name);
  if (info.name == "lenet5") return make_lenet5();
  if (info.name == "charlstm") return make_charlstm();
  assert(info.name == "resnet20" && "a model of the catalogue has no module");
  return make_resnet20();
}

}  // namespace thinpipe
