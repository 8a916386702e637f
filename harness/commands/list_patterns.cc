#include "harness/commands/list_patterns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "harness/commands/list_parameters.h"
#include "harness/options/layout.h"
#include "workloads/exchange/patterns.h"

namespace thinpipe {
namespace {

constexpr std::size_t kPatternColumn = 20;

std::vector<std::string> exchanges_of(const PatternInfo& pattern) {
  std::vector<std::string> names;
  for (const Exchange exchange : pattern.exchanges) names.push_back(to_string(exchange));
  return names;
}

}  // namespace

std::string table_of_patterns() {
  std::string text;
  for (const PatternInfo& pattern : patterns())
    text += two_columns(pattern.name, pattern.summary, kPatternColumn);
  return text;
}

std::string patterns_in_full() {
  std::string text =
      "PATTERNS of `thinpipe run --pattern`: name or name:key=value,...; `|` between\n"
      "patterns, or values, measures several\n\n";
  for (const PatternInfo& pattern : patterns())
    text += fmt::format("{}  [{}]\n", pattern.name, fmt::join(exchanges_of(pattern), ", ")) +
            wrap(pattern.summary, 2) + "\n" + wrap("Source: " + pattern.source, 2) + "\n" +
            parameter_lines(pattern.parameters) + "\n";
  return text;
}

nlohmann::ordered_json patterns_json() {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const PatternInfo& pattern : patterns()) {
    nlohmann::ordered_json parameters = nlohmann::ordered_json::array();
    for (const ParameterInfo& parameter : pattern.parameters)
      parameters.push_back(parameter_json(parameter));
    all.push_back({{"name", pattern.name},
                   {"summary", pattern.summary},
                   {"source", pattern.source},
                   {"exchanges", exchanges_of(pattern)},
                   {"parameters", parameters}});
  }
  return all;
}

}  // namespace thinpipe
