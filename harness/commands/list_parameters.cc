#include "harness/commands/list_parameters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "harness/options/layout.h"

namespace thinpipe {
namespace {

constexpr std::size_t kParameterColumn = 28;

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
  // 1000000 rather than 1e+06, which is no integer to a spec.
  const auto number = [&](double value) {
    return parameter.type == ParameterInfo::Type::kInteger ? fmt::format("{:.0f}", value)
                                                           : fmt::format("{:g}", value);
  };
  const std::string range =
      fmt::format("{}{}, {}{}", parameter.exclusive_minimum ? '(' : '[', number(parameter.minimum),
                  number(parameter.maximum), parameter.exclusive_maximum ? ')' : ']');
  if (parameter.type == ParameterInfo::Type::kRealList) return range + "/..., or none";
  if (is_number(parameter)) return range;
  if (parameter.type == ParameterInfo::Type::kFlag) return "true|false";
  if (parameter.type == ParameterInfo::Type::kSpec) return "a compressor, or same";
  const std::string choices = fmt::format("{}", fmt::join(parameter.choices, "|"));
  // A long list must be able to break at a blank.
  constexpr std::size_t kUnbroken = kColumns - kParameterColumn;
  if (choices.size() < kUnbroken) return choices;
  return fmt::format("{}", fmt::join(parameter.choices, " | "));
}

}  // namespace

nlohmann::ordered_json parameter_json(const ParameterInfo& parameter) {
  nlohmann::ordered_json json{{"name", parameter.name},
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
  return json;
}

std::string parameter_lines(const std::vector<ParameterInfo>& wanted) {
  std::string text;
  for (const ParameterInfo& parameter : wanted) {
    text += two_columns("  " + parameter.name + "=" + parameter.default_value,
                        parameter.help + "; " + allowed(parameter), kParameterColumn);
  }
  return text;
}

}  // namespace thinpipe
