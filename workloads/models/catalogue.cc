#include "workloads/models/catalogue.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"

namespace thinpipe {

const std::vector<ModelInfo>& model_catalogue() {
  static const std::vector<ModelInfo> kModels = {
      {"lenet5", "LeNet-5 as Caffe ships it: conv 20, conv 50, fc 500, fc 10 (SBC, sec. IV-A)",
       431'080, 8, DataKind::kDigits, 32, 0.01, 0.9, true},
      {"charlstm", "two LSTM layers of 200 units on 98 symbols (SBC, sec. IV-A)", 682'498, 11,
       DataKind::kText, 5, 0.5, 0.9, false},
      {"resnet20", "ResNet-20 for CIFAR, parameter-free shortcuts (He et al. 2016, sec. 4.2)",
       269'722, 59, DataKind::kColour, 16, 0.02, 0.9, false},
  };
  return kModels;
}

const ModelInfo& find_model(std::string_view name) {
  const auto& models = model_catalogue();
  const auto found = std::find_if(models.begin(), models.end(),
                                  [&](const ModelInfo& model) { return model.name == name; });
  if (found != models.end()) return *found;
  std::vector<std::string> names;
  for (const ModelInfo& model : models) names.push_back(model.name);
  std::string known;
  for (const std::string& each : names) known += (known.empty() ? "" : ", ") + each;
  throw InputError("model: '" + std::string(name) + "' is unknown (expected one of " + known + ")" +
                   did_you_mean(name, names));
}

}  // namespace thinpipe
