// `thinpipe list`: which compressors there are, with their parameters.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "compressors/registry.h"
#include "harness/commands/output.h"
#include "harness/commands/plugins.h"
#include "harness/commands/verbs.h"
#include "harness/options/arguments.h"
#include "harness/options/layout.h"
#include "workloads/models/catalogue.h"

namespace thinpipe {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kParameterColumn = 28;
constexpr std::size_t kModelColumn = 14;

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
  const std::string range = fmt::format("{}{:g}, {:g}]", parameter.exclusive_minimum ? '(' : '[',
                                        parameter.minimum, parameter.maximum);
  if (parameter.type == ParameterInfo::Type::kRealList) return range + "/..., or none";
  if (is_number(parameter)) return range;
  if (parameter.type == ParameterInfo::Type::kFlag) return "true|false";
  const std::string choices = fmt::format("{}", fmt::join(parameter.choices, "|"));
  // A long list must be able to break at a blank.
  constexpr std::size_t kUnbroken = kColumns - kParameterColumn;
  if (choices.size() < kUnbroken) return choices;
  return fmt::format("{}", fmt::join(parameter.choices, " | "));
}

Json to_json(const ParameterInfo& parameter) {
  Json json{{"name", parameter.name},
            {"type", type_name(parameter.type)},
            {"default", parameter.default_value},
            {"help", parameter.help}};
  if (is_number(parameter)) {
    json["minimum"] = parameter.minimum;
    json["maximum"] = parameter.maximum;
    json["exclusive_minimum"] = parameter.exclusive_minimum;
  }
  if (!parameter.choices.empty()) json["choices"] = parameter.choices;
  return json;
}

// With the default parameters; what a method cannot say beforehand is null.
Json expected_bits(const MethodInfo& method) {
  if (!method.expected_bits) return nullptr;
  return method.expected_bits(Parameters(method.parameters, Spec{method.name, {}}));
}

Json to_json(const MethodInfo& method) {
  Json parameters = Json::array();
  for (const ParameterInfo& parameter : method.parameters) parameters.push_back(to_json(parameter));
  return {{"name", method.name},
          {"summary", method.summary},
          {"source", method.source},
          {"aggregation", to_string(method.aggregation)},
          {"expected_bits_per_element", expected_bits(method)},
          {"parameters", parameters}};
}

std::string to_text(const MethodInfo& method) {
  std::string text = fmt::format("{}  [{}]\n", method.name, to_string(method.aggregation));
  text += wrap(method.summary, 2) + "\n" + wrap("Source: " + method.source, 2) + "\n";
  for (const ParameterInfo& parameter : method.parameters) {
    text += two_columns("  " + parameter.name + "=" + parameter.default_value,
                        parameter.help + "; " + allowed(parameter), kParameterColumn);
  }
  return text;
}

std::vector<MethodInfo> chosen_methods(const std::string& name) {
  if (name.empty()) return methods();
  return {find_method(name)};
}

Json to_json(const ModelInfo& model) {
  return {{"name", model.name},
          {"description", model.description},
          {"parameters", model.parameters},
          {"tensors", model.tensors}};
}

int run(const Arguments& arguments) {
  load_plugins(arguments);
  const bool all = !arguments.given("COMPRESSOR");
  Json json{{"compressors", Json::array()}};
  std::string text = all ? "COMPRESSORS\n\n" : "";
  for (const MethodInfo& method : chosen_methods(arguments.positional("COMPRESSOR"))) {
    json["compressors"].push_back(to_json(method));
    text += to_text(method) + (all ? "\n" : "");
  }
  if (all) text += "MODELS that `thinpipe capture` trains\n\n";
  for (const ModelInfo& model : all ? model_catalogue() : std::vector<ModelInfo>{}) {
    json["models"].push_back(to_json(model));
    text += two_columns(model.name,
                        fmt::format("{}; {} parameters", model.description, model.parameters),
                        kModelColumn);
  }
  write_stdout(arguments.flag("json") ? json.dump(2) + "\n" : text);
  return kExitGood;
}

}  // namespace

Verb list_verb() {
  return {.name = "list",
          .summary = "Name the compressors and the models",
          .description =
              "Prints for every compressor how its payloads are aggregated, the paper it comes "
              "from, and its parameters with defaults and allowed values. A compressor is written "
              "`name:key=value,key=value`; `key=a|b|c` stands for three of them.",
          .options = {plugin_option(), {.name = "json", .help = "print JSON for programs"}},
          .positionals = {{.name = "COMPRESSOR",
                           .help = "only this one, and no models",
                           .required = false}},
          .examples = {{"All compressors and models", "thinpipe list"},
                       {"One of them, for a program to read", "thinpipe list topk --json"}},
          .run = run};
}

}  // namespace thinpipe
