#include "workloads/models/catalogue.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/text.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {
namespace {

constexpr double kMaxNumber = std::numeric_limits<double>::max();
constexpr double kTiny = std::numeric_limits<double>::min();
// A larger number of layers is a mistake in a data file.
constexpr std::uint64_t kMaxRepeats = 10'000;
constexpr std::uint64_t kMaxModelElements = std::uint64_t{1} << 48;

/// Returns `name` with every "{}" replaced by `index`; unchanged outside a repetition.
std::string numbered(std::string name, const std::string& index) {
  if (index.empty()) return name;
  for (std::size_t at = 0; (at = name.find("{}", at)) != std::string::npos; at += index.size()) {
    name.replace(at, 2, index);
  }
  return name;
}

/// Parses ["conv1.weight", [64, 3, 7, 7], 12544]: name, shape and, optionally, uses.
ModelTensor parse_tensor(const JsonField& field, const std::string& index) {
  if (field.size() < 2 || field.size() > 3) {
    field.fail("expected [name, shape] or [name, shape, uses]");
  }
  ModelTensor tensor{.name = numbered(field.at(std::size_t{0}).string(), index), .elements = 1};
  const JsonField shape = field.at(std::size_t{1});
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::uint64_t length = shape.at(axis).unsigned_integer(1, kMaxModelElements);
    if (tensor.elements > kMaxModelElements / length) shape.fail("more than 2^48 elements");
    tensor.elements *= length;
    tensor.shape.push_back(static_cast<std::int64_t>(length));
  }
  if (field.size() == 3) tensor.uses = field.at(std::size_t{2}).unsigned_integer(1, 1'000'000'000);
  return tensor;
}

/// Parses tensors and repetitions {"for": [first, last], "layers": [...]}. A repetition adds its
/// layers once for every number from first to last. The number replaces "{}" in the names of
/// layers.
void parse_layers(const JsonField& layers, const std::string& index, std::size_t depth,
                  std::vector<ModelTensor>& tensors) {
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const JsonField entry = layers.at(i);
    if (!entry.has("for")) {
      tensors.push_back(parse_tensor(entry, index));
      continue;
    }
    if (depth > 0) entry.fail("expected no repetition within a repetition");
    entry.allow_only({"for", "layers"});
    const JsonField range = entry.at("for");
    if (range.size() != 2) range.fail("expected [first, last]");
    const std::uint64_t first = range.at(std::size_t{0}).unsigned_integer(0, kMaxRepeats);
    const std::uint64_t last = range.at(std::size_t{1}).unsigned_integer(first, kMaxRepeats);
    for (std::uint64_t number = first; number <= last; ++number) {
      parse_layers(entry.at("layers"), fmt::format("{}", number), depth + 1, tensors);
    }
  }
}

PublishedCount parse_published(const JsonField& field) {
  field.allow_only({"by", "parameters", "mib", "difference", "rounded_to", "why"});
  PublishedCount count{.by = field.at("by").string()};
  if (field.has("parameters")) count.parameters = field.at("parameters").unsigned_integer(1);
  if (field.has("mib")) count.mib = field.at("mib").number(kTiny, kMaxNumber);
  if (count.parameters.has_value() == count.mib.has_value()) {
    field.fail("expected either parameters or mib");
  }
  if (field.has("rounded_to")) count.rounded_to = field.at("rounded_to").unsigned_integer(1);
  if (field.has("why")) count.why = field.at("why").string();
  if (field.has("difference")) {
    count.difference = static_cast<std::int64_t>(field.at("difference").number(-1e15, 1e15));
    if (count.why.empty()) field.fail("expected why for the difference");
  }
  return count;
}

ModelTimes parse_times(const JsonField& field, std::uint64_t multiply_adds) {
  ModelTimes times;
  times.device = field.at("device").string();
  times.source = field.at("source").string();
  times.batch = field.at("batch").unsigned_integer(1, 1'000'000);
  const std::string kind = field.at("kind").string();
  if (kind == "measured") {
    field.allow_only({"kind", "device", "batch", "forward", "backward", "source"});
    times.kind = ModelTimes::Kind::kMeasured;
    times.forward = field.at("forward").number(kTiny, kMaxNumber);
    times.backward = field.at("backward").number(kTiny, kMaxNumber);
  } else if (kind == "estimated") {
    field.allow_only({"kind", "device", "batch", "flops_per_second", "memory_rate", "source"});
    times.flops_per_second = field.at("flops_per_second").number(1, kMaxNumber);
    times.memory_rate = field.at("memory_rate").number(1, kMaxNumber);
    times.forward = 2 * static_cast<double>(times.batch) * static_cast<double>(multiply_adds) /
                    times.flops_per_second;
    times.backward = 2 * times.forward;
  } else {
    field.at("kind").fail("expected measured or estimated, found '" + printable(kind) + "'");
  }
  return times;
}

TrainingDefaults parse_training(const JsonField& field) {
  field.allow_only({"data", "batch", "learning_rate", "momentum", "independent_samples", "width"});
  TrainingDefaults training;
  static const std::map<std::string, DataKind> kKinds = {{"digits", DataKind::kDigits},
                                                         {"colour", DataKind::kColour},
                                                         {"text", DataKind::kText},
                                                         {"words", DataKind::kWords}};
  const std::string data = field.at("data").string();
  const auto kind = kKinds.find(data);
  if (kind == kKinds.end()) {
    field.at("data").fail("expected digits, colour, text or words, found '" + printable(data) +
                          "'");
  }
  training.data = kind->second;
  training.batch = field.at("batch").unsigned_integer(1, 1'000'000);
  training.learning_rate = field.at("learning_rate").number(kTiny, kMaxNumber);
  training.momentum = field.at("momentum").number(0, 1);
  training.independent_samples = field.at("independent_samples").boolean();
  if (field.has("width")) training.has_width = field.at("width").boolean();
  return training;
}

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

ModelInfo parse_model_file(std::string_view text, const std::string& file) {
  const nlohmann::json json = parse_json_strictly(text, file);
  const JsonField root(json, file);
  root.allow_only({"name", "title", "source", "published", "training", "times", "layers"});
  ModelInfo model;
  model.name = root.at("name").string();
  if (model.name + ".json" != file) root.at("name").fail("expected the file's name");
  model.title = root.at("title").string();
  model.source = root.at("source").string();
  parse_layers(root.at("layers"), "", 0, model.tensors);
  std::set<std::string> names;
  for (const ModelTensor& tensor : model.tensors) {
    if (!names.insert(tensor.name).second) {
      root.at("layers").fail("tensor '" + printable(tensor.name) + "' appears twice");
    }
    model.parameters += tensor.elements;
    model.multiply_adds += tensor.elements * tensor.uses;
  }
  if (model.multiply_adds == 0) root.at("layers").fail("expected a tensor with uses");
  const JsonField published = root.at("published");
  for (std::size_t i = 0; i < published.size(); ++i) {
    model.published.push_back(parse_published(published.at(i)));
  }
  const JsonField times = root.at("times");
  if (times.size() == 0) times.fail("expected at least one");
  for (std::size_t i = 0; i < times.size(); ++i) {
    model.times.push_back(parse_times(times.at(i), model.multiply_adds));
  }
  if (root.has("training")) model.training = parse_training(root.at("training"));
  return model;
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
  // A bias after the last multiplication is ready with the first gradient that has a cost.
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
