// `thinpipe list`: the available compressors, collectives, models, link presets and metrics.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"
#include "base/units.h"
#include "compressors/methods/common.h"
#include "compressors/registry.h"
#include "harness/commands/shared_options.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "harness/options/terminal.h"
#include "netem/link/link_keys.h"
#include "netem/link/link_spec.h"
#include "reports/record/metrics.h"
#include "workloads/collectives/collectives.h"
#include "workloads/models/catalogue.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;

// First column of the last field of each table.
constexpr std::size_t kParameterColumn = 28;
constexpr std::size_t kCollectiveColumn = 20;
constexpr std::size_t kNameColumn = 18;
constexpr std::size_t kKeyColumn = 28;
constexpr std::size_t kSummaryColumn = 42;
constexpr std::size_t kMeaningColumn = 41;

const char* type_name(ParameterInfo::Type type) {
  switch (type) {
    case ParameterInfo::Type::kReal:
      return "real";
    case ParameterInfo::Type::kRealList:
      return "reals";
    case ParameterInfo::Type::kInteger:
      return "integer";
    case ParameterInfo::Type::kChoice:
      return "choice";
    case ParameterInfo::Type::kFlag:
      return "flag";
    case ParameterInfo::Type::kSpec:
      return "spec";
  }
  return "";
}

bool is_number(const ParameterInfo& parameter) {
  return parameter.type == ParameterInfo::Type::kReal ||
         parameter.type == ParameterInfo::Type::kInteger ||
         parameter.type == ParameterInfo::Type::kRealList;
}

// "(0, 1]", "a|b|c", "true|false".
std::string allowed(const ParameterInfo& parameter) {
  if (parameter.type == ParameterInfo::Type::kRealList) return parameter.range() + "/..., or none";
  if (is_number(parameter)) return parameter.range();
  if (parameter.type == ParameterInfo::Type::kFlag) return "true|false";
  if (parameter.type == ParameterInfo::Type::kSpec) return "a compressor spec, or same";
  const std::string choices = fmt::format("{}", fmt::join(parameter.choices, "|"));
  // Blanks let a long list wrap.
  constexpr std::size_t kUnbroken = kColumns - kParameterColumn;
  if (choices.size() < kUnbroken) return choices;
  return fmt::format("{}", fmt::join(parameter.choices, " | "));
}

Json parameters_json(const std::vector<ParameterInfo>& parameters) {
  Json all = Json::array();
  for (const ParameterInfo& parameter : parameters) {
    Json json{{"name", parameter.name},
              {"type", type_name(parameter.type)},
              {"default", parameter.default_value},
              {"help", parameter.help}};
    if (is_number(parameter)) {
      json["minimum"] = parameter.minimum;
      json["maximum"] = parameter.maximum;
      json["exclusive_minimum"] = parameter.exclusive_minimum;
      json["exclusive_maximum"] = parameter.exclusive_maximum;
    }
    if (!parameter.choices.empty()) json["choices"] = parameter.choices;
    all.push_back(json);
  }
  return all;
}

// Returns name, default, help and range of each parameter.
std::string parameter_lines(const std::vector<ParameterInfo>& wanted) {
  std::string text;
  for (const ParameterInfo& parameter : wanted)
    text += two_columns("  " + parameter.name + "=" + parameter.default_value,
                        parameter.help + "; " + allowed(parameter), kParameterColumn);
  return text;
}

std::vector<std::string> exchanges_of(const CollectiveInfo& collective) {
  std::vector<std::string> names;
  for (const Exchange exchange : collective.exchanges()) names.push_back(to_string(exchange));
  return names;
}

// Returns one line for each collective.
std::string table_of_collectives() {
  std::string text;
  for (const CollectiveInfo& collective : collectives())
    text += two_columns(collective.name, collective.summary, kCollectiveColumn);
  return text;
}

// Returns every collective with its primitives and parameters.
std::string collectives_in_full() {
  std::string text =
      "COLLECTIVES of `thinpipe run --collective`: name or name:key=value,...;\n"
      "a|b measures both, for collectives and for values\n\n";
  for (const CollectiveInfo& collective : collectives())
    text += fmt::format("{}  [{}]\n", collective.name, fmt::join(exchanges_of(collective), ", ")) +
            wrap(collective.summary, 2) + "\n" + wrap("Source: " + collective.source, 2) + "\n" +
            parameter_lines(collective.parameters) + "\n";
  return text;
}

Json collectives_json() {
  Json all = Json::array();
  for (const CollectiveInfo& collective : collectives())
    all.push_back({{"name", collective.name},
                   {"summary", collective.summary},
                   {"source", collective.source},
                   {"exchanges", exchanges_of(collective)},
                   {"parameters", parameters_json(collective.parameters)}});
  return all;
}

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
  if (count.difference != 0)
    text += fmt::format("; the catalogue has {} {}", std::abs(count.difference),
                        count.difference > 0 ? "more" : "fewer");
  return count.why.empty() ? text : text + ": " + count.why;
}

std::string times_text(const ModelTimes& times) {
  std::string text = fmt::format("forward {}, backward {} for a mini-batch of {} on {}; {}",
                                 format_time(times.forward), format_time(times.backward),
                                 times.batch, times.device, kind_name(times.kind));
  if (times.kind == ModelTimes::Kind::kEstimated)
    text += fmt::format(" ({}) at {:g} FLOP/s", estimate_formula(), times.flops_per_second);
  return text + ": " + times.source;
}

// Returns name, size and source. @param in_full  also published counts, times and every layer
Json model_json(const ModelInfo& model, bool in_full) {
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
  const std::vector<double> fractions = model.ready_shares();
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    const ModelTensor& tensor = model.tensors[i];
    json["layers"].push_back({{"name", tensor.name},
                              {"shape", tensor.shape},
                              {"elements", tensor.elements},
                              {"uses", tensor.uses},
                              {"ready_order", model.ready_order(i)},
                              {"ready_share", fractions[i]}});
  }
  return json;
}

// Returns an entry for every model.
std::string table_of_models() {
  std::string text;
  for (const ModelInfo& model : model_catalogue())
    text += two_columns(model.name,
                        fmt::format("{}; {} parameters{}", model.title, model.parameters,
                                    model.training ? "; trainable by `thinpipe capture`" : ""),
                        kNameColumn);
  return text;
}

// Returns one model with its published counts, its times and its layers.
std::string model_text(const ModelInfo& model) {
  const auto work = static_cast<double>(model.multiply_adds);
  const bool billions = work >= 1e9;
  std::string text =
      fmt::format("{}  [{} parameters in {} tensors; {:.3g} {} multiply-adds per sample]\n",
                  model.name, model.parameters, model.tensors.size(), work / (billions ? 1e9 : 1e6),
                  billions ? "billion" : "million") +
      wrap(model.title, 2) + "\n" + wrap("Source: " + model.source, 2) + "\n";
  for (const PublishedCount& count : model.published)
    text += wrap("Published: " + published_text(count), 2) + "\n";
  for (const ModelTimes& times : model.times) text += wrap("Times: " + times_text(times), 2) + "\n";
  text += fmt::format("\n  {:>5} {:>8}  {:>11}  {:<20} {}\n", "ready", "after", "elements", "shape",
                      "tensor");
  const std::vector<double> fractions = model.ready_shares();
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    const ModelTensor& tensor = model.tensors[i];
    text += fmt::format("  {:>5} {:>7.2f}%  {:>11}  {:<20} {}\n", model.ready_order(i),
                        100 * fractions[i], tensor.elements,
                        fmt::format("{}", fmt::join(tensor.shape, " x ")), tensor.name);
  }
  return text + "\n" +
         wrap(
             "ready: position in the order in which gradients become ready; after: fraction of "
             "the backward pass that is complete by then, in multiply-adds.",
             2) +
         "\n";
}

// Returns whether `name` is no method, but a model or similar enough to be a misspelt one.
bool names_a_model(const std::string& name) {
  if (std::any_of(methods().begin(), methods().end(),
                  [&](const MethodInfo& method) { return method.name == name; }))
    return false;
  std::vector<std::string> names;
  for (const ModelInfo& model : model_catalogue()) names.push_back(model.name);
  return !nearest(name, names).empty();
}

// Returns the collective that aggregates payloads at default parameters.
const char* aggregation(const MethodInfo& method) {
  return to_string(aggregation_of(Spec{method.name, {}}));
}

Json to_json(const MethodInfo& method) {
  const std::optional<double> bits = expected_bits({method.name, {}});
  return {{"name", method.name},
          {"summary", method.summary},
          {"source", method.source},
          {"aggregation", aggregation(method)},
          {"expected_bits_per_element", bits ? Json(*bits) : Json(nullptr)},
          {"needs_squares", method.needs_squares},
          {"parameters", parameters_json(method.parameters)}};
}

/// Returns bits per element such as "6.40", or "-" if a method cannot know them in advance.
std::string bits_text(const MethodInfo& method) {
  const std::optional<double> bits = expected_bits({method.name, {}});
  return bits ? fmt::format("{:.4g}", *bits) : "-";
}

std::string heading(const MethodInfo& method) {
  return fmt::format("{}  [{}; {} bits per element expected{}]\n", method.name, aggregation(method),
                     bits_text(method), method.needs_squares ? "; needs second moments" : "") +
         wrap(method.summary, 2) + "\n" + wrap("Source: " + method.source, 2) + "\n";
}

/// Returns the parameters with the same meaning in every method that has them.
std::vector<ParameterInfo> common_parameters() {
  return join({{ratio_parameters("0.01").back()},
               memory_parameters("residual"),
               encoding_parameters("fp32", "raw32")});
}

bool is_common(const ParameterInfo& parameter) {
  static const std::vector<ParameterInfo> common = common_parameters();
  return std::any_of(common.begin(), common.end(),
                     [&](const ParameterInfo& other) { return other.name == parameter.name; });
}

/// Returns a method's own parameters in full, and the defaults of its common parameters.
std::string to_short_text(const MethodInfo& method) {
  std::vector<ParameterInfo> own;
  std::vector<std::string> defaults;
  for (const ParameterInfo& parameter : method.parameters) {
    if (!is_common(parameter)) {
      own.push_back(parameter);
    } else if (parameter.name != "workers") {  // has no effect without `clip`
      defaults.push_back(parameter.name + "=" + parameter.default_value);
    }
  }
  std::string text = heading(method) + parameter_lines(own);
  if (!defaults.empty()) text += wrap(fmt::format("{}", fmt::join(defaults, " ")), 4) + "\n";
  return text;
}

std::string all_in_full() {
  std::string text;
  for (const MethodInfo& method : methods()) text += to_short_text(method) + "\n";
  return text + "PARAMETERS with the same meaning in every compressor that has them\n\n" +
         parameter_lines(common_parameters());
}

std::string table_of_methods() {
  std::string text =
      fmt::format("  {:<18}{:>7}  {:<13}{}\n", "compressor", "bits/el", "collective", "payload");
  for (const MethodInfo& method : methods()) {
    const std::string left =
        fmt::format("{:<18}{:>7}  {:<11}", method.name, bits_text(method), aggregation(method));
    text += two_columns(left, method.summary, kSummaryColumn);
  }
  return text;
}

Json to_json(const LinkPreset& preset) {
  return {{"name", preset.name},
          {"spec", preset.spec},
          {"what", preset.what},
          {"source", preset.source},
          {"link", link_json(parse_link_spec(preset.spec))}};
}

std::string table_of_presets() {
  std::string text;
  for (const LinkPreset& preset : link_presets())
    text += two_columns(preset.name, preset.what, kNameColumn);
  return text;
}

std::string links_in_full() {
  std::string text =
      "LINK PRESETS; keys after the name override its values: --link lte,rate=5mbit\n\n";
  for (const LinkPreset& preset : link_presets())
    text += two_columns(preset.name, preset.what, kNameColumn) +
            two_columns("", preset.spec, kNameColumn) +
            two_columns("", std::string("Source: ") + preset.source, kNameColumn);
  text +=
      "\nKEYS per direction, `key=value,key=value`; the prefix up. or down. sets a key\n"
      "for the uplink or the downlink only\n\n";
  for (const DirectionKey& key : direction_keys())
    text += two_columns(fmt::format("{}={}", key.name, key.value), key.help, kKeyColumn);
  text += "\nKEYS of the whole link\n\n";
  for (const LinkKey& key : link_keys())
    text += two_columns(fmt::format("{}={}", key.name, key.value), key.help, kKeyColumn);
  return text;
}

std::string metrics_in_full() {
  const auto line = [](const char* name, const char* unit, const char* better,
                       const char* meaning) {
    return two_columns(fmt::format("{:<22} {:<5} {}", name, unit, better), meaning, kMeaningColumn);
  };
  std::string text = "METRICS of records\n\n" + line("metric", "unit", "better", "meaning");
  for (const MetricType& metric : kMetricTypes)
    text += line(metric.name, metric.unit, metric.better, metric.meaning);
  return text;
}

Json metrics_json() {
  Json all = Json::array();
  for (const MetricType& metric : kMetricTypes)
    all.push_back({{"name", metric.name},
                   {"unit", metric.unit},
                   {"better", metric.better},
                   {"kind", metric.kind},
                   {"meaning", metric.meaning}});
  return all;
}

std::string overview() {
  return "COMPRESSORS, with the expected payload bits per element at default parameters\n\n" +
         table_of_methods() + "\nCOLLECTIVES that exchange payloads\n\n" + table_of_collectives() +
         "\nMODELS of the catalogue\n\n" + table_of_models() +
         "\nLINK PRESETS of `thinpipe run` and `thinpipe net`\n\n" + table_of_presets() +
         "\nFor details:\n"
         "  thinpipe list NAME         parameters of a compressor, layers of a model\n"
         "  thinpipe list compressors  parameters of all compressors\n"
         "  thinpipe list collectives  parameters of all collectives\n"
         "  thinpipe list links        link presets and all link keys\n"
         "  thinpipe list metrics      metrics of records\n";
}

Json list_json(const std::string& what) {
  const auto wants = [&](const char* group) { return what.empty() || what == group; };
  Json json = Json::object();
  if (wants("compressors"))
    for (const MethodInfo& method : methods()) json["compressors"].push_back(to_json(method));
  if (wants("models"))
    for (const ModelInfo& model : model_catalogue())
      json["models"].push_back(model_json(model, !what.empty()));
  if (wants("links"))
    for (const LinkPreset& preset : link_presets()) json["links"].push_back(to_json(preset));
  if (wants("collectives")) json["collectives"] = collectives_json();
  if (wants("metrics")) json["metrics"] = metrics_json();
  if (!json.empty()) return json;
  if (names_a_model(what))
    json["models"].push_back(model_json(find_model(what), true));
  else
    json["compressors"].push_back(to_json(find_method(what)));
  return json;
}

std::string list_text(const std::string& what) {
  if (what.empty()) return overview();
  if (what == "compressors") return all_in_full();
  if (what == "models") return table_of_models();
  if (what == "links") return links_in_full();
  if (what == "collectives") return collectives_in_full();
  if (what == "metrics") return metrics_in_full();
  if (names_a_model(what)) return model_text(find_model(what));
  const MethodInfo& method = find_method(what);
  return heading(method) + parameter_lines(method.parameters);
}

Action prepare_list(const Arguments& arguments) {
  load_plugins(arguments);
  std::string what = arguments.positional("WHAT");
  if (what == "patterns") what = "collectives";  // the name before 0.2
  const bool as_json = arguments.flag("json");
  return [as_json, text = as_json ? list_json(what).dump(2) + "\n" : list_text(what)] {
    as_json ? write_stdout(text) : write_text(text);
    return kExitGood;
  };
}

// Returns all values of the argument WHAT.
std::vector<std::string> what_names() {
  std::vector<std::string> names = {"compressors", "collectives", "models", "links", "metrics"};
  for (const MethodInfo& method : methods()) names.push_back(method.name);
  for (const ModelInfo& model : model_catalogue()) names.push_back(model.name);
  return names;
}

}  // namespace

Verb list_verb() {
  return {
      .name = "list",
      .summary = "List compressors, collectives, models, links and metrics",
      .description =
          "Without an argument, prints a line for each compressor, collective, model and link "
          "preset. `list compressors` prints, for every compressor, the collective that aggregates "
          "its payloads, the expected bits per element, the paper, and the parameters with their "
          "defaults and allowed values. A compressor is written `name:key=value,key=value`; "
          "`key=a|b|c` expands to three compressors.\n\n"
          "`list models` prints the models of the catalogue. The name of a model, or --json, adds "
          "layers, published parameter counts and compute times, with their sources. `list links` "
          "prints the link presets with the sources of their figures, and all link keys. `list "
          "collectives` prints the collectives with their parameters. `list metrics` prints the "
          "metrics of records with their units.",
      .options = {plugin_option(), {.name = "json", .help = "print JSON for programs"}},
      .positionals = {{.name = "WHAT",
                       .help = "`compressors`, `collectives`, `models`, `links`, `metrics`, or the "
                               "name of a compressor or model",
                       .required = false,
                       .suggestions = what_names()}},
      .examples = {{"One line for each compressor, collective, model and link", "thinpipe list"},
                   {"All compressors with their parameters", "thinpipe list compressors"},
                   {"A model with its layers and times", "thinpipe list vgg19"},
                   {"Link presets and link keys", "thinpipe list links"},
                   {"Collectives for `thinpipe run --collective`", "thinpipe list collectives"},
                   {"Metrics of records, with units", "thinpipe list metrics"},
                   {"One compressor as JSON", "thinpipe list topk --json"}},
      .prepare = prepare_list};
}

}  // namespace thinpipe
