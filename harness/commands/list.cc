// `thinpipe list`: which compressors, exchange patterns, models and links there are.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "compressors/methods/common.h"
#include "compressors/registry.h"
#include "harness/commands/list_models.h"
#include "harness/commands/list_parameters.h"
#include "harness/commands/list_patterns.h"
#include "harness/commands/output.h"
#include "harness/commands/plugins.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "harness/options/layout.h"
#include "netem/link_json.h"
#include "netem/link_keys.h"
#include "netem/link_presets.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPresetColumn = 18;
constexpr std::size_t kKeyColumn = 28;
constexpr std::size_t kSummaryColumn = 42;

// With the default parameters; what a method cannot say beforehand is null.
Json expected_bits(const MethodInfo& method) {
  if (!method.expected_bits) return nullptr;
  return method.expected_bits(Parameters(method.parameters, Spec{method.name, {}}));
}

// With the default parameters.
const char* aggregation(const MethodInfo& method) {
  return to_string(aggregation_of(Spec{method.name, {}}));
}

Json to_json(const MethodInfo& method) {
  Json parameters = Json::array();
  for (const ParameterInfo& parameter : method.parameters)
    parameters.push_back(parameter_json(parameter));
  return {{"name", method.name},
          {"summary", method.summary},
          {"source", method.source},
          {"aggregation", aggregation(method)},
          {"expected_bits_per_element", expected_bits(method)},
          {"needs_squares", method.needs_squares},
          {"parameters", parameters}};
}

/// "6.40", or "-" for what a method cannot say beforehand.
std::string bits_text(const MethodInfo& method) {
  const Json bits = expected_bits(method);
  return bits.is_null() ? "-" : fmt::format("{:.4g}", bits.get<double>());
}

std::string heading(const MethodInfo& method) {
  return fmt::format("{}  [{}; {} bits an element expected{}]\n", method.name, aggregation(method),
                     bits_text(method), method.needs_squares ? "; needs second moments" : "") +
         wrap(method.summary, 2) + "\n" + wrap("Source: " + method.source, 2) + "\n";
}

/// Parameters that mean the same in every method that has them.
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

/// Own parameters in full, of the common ones the defaults.
std::string to_short_text(const MethodInfo& method) {
  std::vector<ParameterInfo> own;
  std::vector<std::string> defaults;
  for (const ParameterInfo& parameter : method.parameters) {
    if (!is_common(parameter)) {
      own.push_back(parameter);
    } else if (parameter.name != "workers") {  // nothing without clip
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
  return text + "PARAMETERS that mean the same in every compressor that has them\n\n" +
         parameter_lines(common_parameters());
}

std::string table_of_methods() {
  std::string text = fmt::format("  {:<18}{:>7}  {:<11}{}\n", "compressor", "bits/el", "exchange",
                                 "what it sends");
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
    text += two_columns(preset.name, preset.what, kPresetColumn);
  return text;
}

std::string links_in_full() {
  std::string text = "LINKS by name; single keys can be set behind it: --link lte,rate=5mbit\n\n";
  for (const LinkPreset& preset : link_presets())
    text += two_columns(preset.name, preset.what, kPresetColumn) +
            two_columns("", preset.spec, kPresetColumn) +
            two_columns("", std::string("Source: ") + preset.source, kPresetColumn);
  text +=
      "\nKEYS of a link, `key=value,key=value`; up. or down. before a key means\n"
      "that direction alone\n\n";
  for (const DirectionKey& key : direction_keys())
    text += two_columns(fmt::format("{}={}", key.name, key.value), key.help, kKeyColumn);
  text += "\nand of the link as a whole\n\n";
  for (const LinkKey& key : link_keys())
    text += two_columns(fmt::format("{}={}", key.name, key.value), key.help, kKeyColumn);
  return text;
}

std::string overview() {
  return "COMPRESSORS, with the payload bits an element that their defaults should take\n\n" +
         table_of_methods() + "\nPATTERNS in which payloads are exchanged\n\n" +
         table_of_patterns() + "\nMODELS of the catalogue\n\n" + table_of_models() +
         "\nLINKS that `thinpipe run` and `thinpipe net` know by name\n\n" + table_of_presets() +
         "\n`thinpipe list NAME` shows a compressor's parameters or a model's layers,\n"
         "`thinpipe list compressors` the parameters of all compressors, `thinpipe list\n"
         "patterns` those of the patterns, `thinpipe list links` the keys of a link.\n";
}

bool is_method(const std::string& name) {
  return std::any_of(methods().begin(), methods().end(),
                     [&](const MethodInfo& method) { return method.name == name; });
}

std::string list(const Arguments& arguments) {
  const std::string& what = arguments.positional("WHAT");
  const bool compressors = what.empty() || what == "compressors";
  const bool models = what.empty() || what == "models";
  const bool links = what.empty() || what == "links";
  const bool exchanges = what.empty() || what == "patterns";
  const bool group = compressors || models || links || exchanges;
  const bool model = !group && !is_method(what) && names_a_model(what);
  if (arguments.flag("json")) {
    Json json = Json::object();
    if (compressors || !(group || model)) json["compressors"] = Json::array();
    if (compressors) {
      for (const MethodInfo& method : methods()) json["compressors"].push_back(to_json(method));
    } else if (!group && !model) {
      json["compressors"].push_back(to_json(find_method(what)));
    }
    if (models) {
      for (const ModelInfo& info : model_catalogue()) {
        json["models"].push_back(model_json(info, !what.empty()));
      }
    } else if (model) {
      json["models"].push_back(model_json(find_model(what), true));
    }
    for (const LinkPreset& preset : links ? link_presets() : std::span<const LinkPreset>()) {
      json["links"].push_back(to_json(preset));
    }
    if (exchanges) json["patterns"] = patterns_json();
    return json.dump(2) + "\n";
  }
  if (what.empty()) return overview();
  if (compressors) return all_in_full();
  if (models) return table_of_models();
  if (links) return links_in_full();
  if (exchanges) return patterns_in_full();
  if (model) return model_text(find_model(what));
  const MethodInfo& method = find_method(what);
  return heading(method) + parameter_lines(method.parameters);
}

Action prepare_list(const Arguments& arguments) {
  load_plugins(arguments);
  return [&arguments, text = list(arguments)] {
    arguments.flag("json") ? write_stdout(text) : write_text(text);
    return kExitGood;
  };
}

// All that can stand for WHAT.
std::vector<std::string> what_there_is() {
  std::vector<std::string> names = {"compressors", "patterns", "models", "links"};
  for (const MethodInfo& method : methods()) names.push_back(method.name);
  for (const ModelInfo& model : model_catalogue()) names.push_back(model.name);
  return names;
}

}  // namespace

Verb list_verb() {
  return {
      .name = "list",
      .summary = "Name the compressors, patterns, models and links",
      .description =
          "Prints for every compressor how its payloads are aggregated, the bits an element they "
          "should take, the paper it comes from, and its parameters with defaults and allowed "
          "values. A compressor is written `name:key=value,key=value`; `key=a|b|c` stands for "
          "three of them. `list models` prints the models of the catalogue, whose layers, "
          "published parameter counts and compute times, with their sources, come with a model's "
          "name or with --json. `list links` prints the links that have a name, with the sources "
          "of their figures, and all keys of a link; `list patterns` the ways in which ranks "
          "exchange payloads.",
      .options = {plugin_option(), {.name = "json", .help = "print JSON for programs"}},
      .positionals = {{.name = "WHAT",
                       .help = "`compressors`, `patterns`, `models`, `links`, or the name of a "
                               "compressor or a model",
                       .required = false,
                       .suggestions = what_there_is()}},
      .examples = {{"All compressors and models, a line each", "thinpipe list"},
                   {"Every compressor with its parameters", "thinpipe list compressors"},
                   {"A model with its layers and times", "thinpipe list vgg19"},
                   {"Links by name, and the keys of a link", "thinpipe list links"},
                   {"Exchange patterns, for `thinpipe run --pattern`", "thinpipe list patterns"},
                   {"One compressor, for a program to read", "thinpipe list topk --json"}},
      .prepare = prepare_list};
}

}  // namespace thinpipe
