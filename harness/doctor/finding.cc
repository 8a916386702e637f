// One thing the doctor looked at: what was found, what it costs, what to do.
#include "harness/doctor/finding.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>

#include "harness/options/layout.h"

namespace thinpipe {
namespace {

constexpr std::size_t kStateWidth = 10;
constexpr std::size_t kNameWidth = 14;
constexpr std::size_t kTextColumn = kStateWidth + kNameWidth;

std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

std::string under(const char* label, const std::string& text) {
  if (text.empty()) return "";
  return std::string(kTextColumn, ' ') +
         wrap(std::string(label) + text, kTextColumn + 2, kColumns, false) + "\n";
}

}  // namespace

const char* to_string(Finding::State state) {
  switch (state) {
    case Finding::State::kGood:
      return "good";
    case Finding::State::kNote:
      return "note";
    case Finding::State::kAbsent:
      return "absent";
    case Finding::State::kFatal:
      return "FATAL";
  }
  return "";
}

bool can_run(const std::vector<Finding>& findings) {
  return std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.state == Finding::State::kFatal;
  });
}

std::string to_text(const std::vector<Finding>& findings) {
  std::string text, group;
  for (const Finding& finding : findings) {
    if (finding.group != group) {
      group = finding.group;
      text += text.empty() ? "" : "\n";
      text += static_cast<char>(std::toupper(static_cast<unsigned char>(group[0])));
      text += group.substr(1) + "\n";
    }
    text += padded(std::string("  ") + to_string(finding.state), kStateWidth) +
            padded(finding.name, kNameWidth) + wrap(finding.found, kTextColumn, kColumns, false) +
            "\n" + under("cost: ", finding.cost) + under("do: ", finding.remedy);
  }
  text += can_run(findings) ? "\nThis machine can run thinpipe.\n"
                            : "\nThis machine cannot run thinpipe; see FATAL above.\n";
  return text;
}

std::string to_json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    list.push_back({{"group", finding.group},
                    {"name", finding.name},
                    {"state", to_string(finding.state)},
                    {"found", finding.found},
                    {"cost", finding.cost},
                    {"remedy", finding.remedy}});
  }
  const nlohmann::ordered_json json{{"can_run", can_run(findings)}, {"findings", list}};
  return json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace thinpipe
