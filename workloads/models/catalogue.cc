#include "workloads/models/catalogue.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "workloads/models/catalogue_files.h"
#include "workloads/models/model_file.h"

namespace thinpipe {
namespace {

const ModelInfo& find_among(std::string_view name, const std::vector<std::string>& names) {
  if (std::find(names.begin(), names.end(), name) == names.end()) {
    throw InputError(fmt::format("model: {} is unknown (expected one of {}){}", in_quotes(name),
                                 fmt::join(names, ", "), did_you_mean(name, names)));
  }
  const auto& models = model_catalogue();
  return *std::find_if(models.begin(), models.end(),
                       [&](const ModelInfo& model) { return model.name == name; });
}

}  // namespace

bool PublishedCount::agrees(std::size_t of_model) const {
  const std::int64_t meant = static_cast<std::int64_t>(of_model) - difference;
  if (mib) {
    constexpr double kBytes = 4, kMebi = 1 << 20;
    return std::round(static_cast<double>(meant) * kBytes / kMebi * 100) == std::round(*mib * 100);
  }
  const std::int64_t off = meant - static_cast<std::int64_t>(*parameters);
  return rounded_to == 1 ? off == 0 : 2 * std::abs(off) <= static_cast<std::int64_t>(rounded_to);
}

const char* estimate_formula() {
  return "forward = 2 x batch x multiply-adds of a sample / FLOP rate, backward = 2 x forward";
}

std::vector<double> ModelInfo::ready_shares() const {
  std::vector<double> shares(tensors.size());
  double done = 0;
  for (std::size_t i = tensors.size(); i-- > 0;) {
    done += static_cast<double>(tensors[i].elements) * static_cast<double>(tensors[i].uses);
    shares[i] = done / static_cast<double>(multiply_adds);
  }
  // A bias after the last multiplication: ready with the first gradient that costs something.
  for (std::size_t i = tensors.size(); i-- > 0 && shares[i] == 0;) {
    const auto first = std::find_if(shares.rbegin(), shares.rend(), [](double s) { return s > 0; });
    shares[i] = *first;
  }
  return shares;
}

const std::vector<ModelInfo>& model_catalogue() {
  static const std::vector<ModelInfo> kModels = [] {
    std::vector<ModelInfo> models;
    for (const auto& [file, text] : catalogue_files()) {
      models.push_back(parse_model_file(text, std::string(file)));
    }
    std::sort(models.begin(), models.end(),
              [](const ModelInfo& a, const ModelInfo& b) { return a.name < b.name; });
    return models;
  }();
  return kModels;
}

const ModelInfo& find_model(std::string_view name) {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const ModelInfo& model : model_catalogue()) names.push_back(model.name);
    return names;
  }();
  return find_among(name, kNames);
}

const std::vector<std::string>& trainable_models() {
  static const std::vector<std::string> kNames = [] {
    std::vector<std::string> names;
    for (const ModelInfo& model : model_catalogue()) {
      if (model.training) names.push_back(model.name);
    }
    return names;
  }();
  return kNames;
}

const ModelInfo& find_trainable_model(std::string_view name) {
  return find_among(name, trainable_models());
}

}  // namespace thinpipe
