#include "harness/commands/list_models.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/units.h"
#include "harness/options/layout.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kNameColumn = 18;

const char* kind_name(ModelTimes::Kind kind) {
  return kind == ModelTimes::Kind::kMeasured ? "measured" : "estimated";
}

Json to_json(const PublishedCount& count) {
  Json json{{"by", count.by}};
  if (count.parameters) json["parameters"] = *count.parameters;
  if (count.mib) json["mib"] = *count.mib;
  if (count.rounded_to != 1) json["rounded_to"] = count.rounded_to;
  json["difference"] = count.difference;
  json["why"] = count.why;
  return json;
}

Json to_json(const ModelTimes& times) {
  Json json{{"kind", kind_name(times.kind)}, {"device", times.device},
            {"batch", times.batch},          {"forward", times.forward},
            {"backward", times.backward},    {"source", times.source}};
  if (times.kind == ModelTimes::Kind::kEstimated) {
    json["flops_per_second"] = times.flops_per_second;
    json["memory_rate"] = times.memory_rate;
    json["formula"] = estimate_formula();
  }
  return json;
}

std::string published_text(const PublishedCount& count) {
  std::string text = count.mib ? fmt::format("{} MiB", *count.mib)
                               : fmt::format("{}{}", count.rounded_to == 1 ? "" : "about ",
                                             count.parameters.value_or(0));
  text += " in " + count.by;
  if (count.difference != 0) {
    text += fmt::format("; this has {} {}", std::abs(count.difference),
                        count.difference > 0 ? "more" : "fewer");
  }
  return count.why.empty() ? text : text + ": " + count.why;
}

std::string times_text(const ModelTimes& times) {
  std::string text = fmt::format("forward {}, backward {} for a mini-batch of {} on {}; {}",
                                 format_time(times.forward), format_time(times.backward),
                                 times.batch, times.device, kind_name(times.kind));
  if (times.kind == ModelTimes::Kind::kEstimated) {
    text += fmt::format(" ({}) at {:g} FLOP/s", estimate_formula(), times.flops_per_second);
  }
  return text + ": " + times.source;
}

}  // namespace

nlohmann::ordered_json model_json(const ModelInfo& model, bool in_full) {
  Json json{{"name", model.name},
            {"description", model.title},
            {"source", model.source},
            {"parameters", model.parameters},
            {"tensors", model.tensors.size()},
            {"multiply_adds", model.multiply_adds},
            {"trainable", model.training.has_value()}};
  if (!in_full) return json;
  for (const char* list : {"published", "times", "layers"}) json[list] = Json::array();
  for (const PublishedCount& count : model.published) json["published"].push_back(to_json(count));
  for (const ModelTimes& times : model.times) json["times"].push_back(to_json(times));
  const std::vector<double> shares = model.ready_shares();
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    const ModelTensor& tensor = model.tensors[i];
    json["layers"].push_back({{"name", tensor.name},
                              {"shape", tensor.shape},
                              {"elements", tensor.elements},
                              {"uses", tensor.uses},
                              {"ready_order", model.ready_order(i)},
                              {"ready_share", shares[i]}});
  }
  return json;
}

std::string table_of_models() {
  std::string text;
  for (const ModelInfo& model : model_catalogue()) {
    text += two_columns(model.name,
                        fmt::format("{}; {} parameters{}", model.title, model.parameters,
                                    model.training ? "; `thinpipe capture` trains it" : ""),
                        kNameColumn);
  }
  return text;
}

std::string model_text(const ModelInfo& model) {
  const auto work = static_cast<double>(model.multiply_adds);
  const bool much = work >= 1e9;
  std::string text =
      fmt::format("{}  [{} parameters in {} tensors; {:.3g} {} multiply-adds a sample]\n",
                  model.name, model.parameters, model.tensors.size(), work / (much ? 1e9 : 1e6),
                  much ? "billion" : "million") +
      wrap(model.title, 2) + "\n" + wrap("Source: " + model.source, 2) + "\n";
  for (const PublishedCount& count : model.published) {
    text += wrap("Published: " + published_text(count), 2) + "\n";
  }
  for (const ModelTimes& times : model.times) text += wrap("Times: " + times_text(times), 2) + "\n";
  text += fmt::format("\n  {:>5} {:>8}  {:>11}  {:<20} {}\n", "ready", "after", "elements", "shape",
                      "tensor");
  const std::vector<double> shares = model.ready_shares();
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    const ModelTensor& tensor = model.tensors[i];
    text += fmt::format("  {:>5} {:>7.2f}%  {:>11}  {:<20} {}\n", model.ready_order(i),
                        100 * shares[i], tensor.elements,
                        fmt::format("{}", fmt::join(tensor.shape, " x ")), tensor.name);
  }
  return text + "\n" +
         wrap(
             "ready: the place in the order in which gradients become ready; after: the share of "
             "the backward pass that is over then, by multiply-adds.",
             2) +
         "\n";
}

bool names_a_model(const std::string& name) {
  std::vector<std::string> names;
  for (const ModelInfo& model : model_catalogue()) names.push_back(model.name);
  return !nearest(name, names).empty();
}

}  // namespace thinpipe
