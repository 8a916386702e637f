// The text of a flag, and the canonical text of any topology.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"
#include "netem/topology/kinds.h"
#include "netem/topology/spec.h"

namespace thinpipe {

namespace {

// At commas outside parentheses.
std::vector<std::string> split_settings(std::string_view text) {
  std::vector<std::string> parts = {""};
  int depth = 0;
  for (const char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (depth < 0 || depth > 1) break;
    if (c == ',' && depth == 0)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  if (depth != 0) throw InputError("its parentheses do not match");
  return parts;
}

bool among(const std::vector<TopologySetting>& settings, const std::string& name) {
  return std::any_of(settings.begin(), settings.end(),
                     [&](const TopologySetting& setting) { return name == setting.name; });
}

// Whether exceptions may be called so: a link of some number of hosts, racks or sites.
bool may_be_link(const TopologyKind& kind, std::string_view name) {
  for (const std::string_view prefix : {"host", "rack", "site"})
    if (name.starts_with(prefix) && name.size() > prefix.size() && name[prefix.size()] >= '0' &&
        name[prefix.size()] <= '9')
      return prefix == "host" ||
             std::string_view(kind.name) == (prefix == "rack" ? "racks" : "wan");
  return false;
}

[[noreturn]] void refuse_setting(const TopologyKind& kind, const std::string& key) {
  std::vector<std::string> known;
  for (const auto* settings : {&kind.values, &kind.links})
    for (const TopologySetting& setting : *settings) known.emplace_back(setting.name);
  const std::string hint = did_you_mean(key, known);
  known.emplace_back("host0, host1, ...");
  throw InputError(fmt::format("unknown setting {} (known: {}){}", in_quotes(key),
                               fmt::join(known, ", "), hint));
}

void read_setting(const TopologyKind& kind, const std::string& part, TopologySpec& spec) {
  const std::size_t equals = part.find('=');
  const std::string key = part.substr(0, equals);
  const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
  if (value.empty())
    throw InputError(fmt::format("expected setting=value (such as host3=(rate=10mbit)), found {}",
                                 in_quotes(part)));
  const bool is_value = among(kind.values, key), is_link = among(kind.links, key);
  if (!is_value && !is_link && !may_be_link(kind, key)) refuse_setting(kind, key);
  if (spec.values.contains(key) || spec.links.contains(key) ||
      std::any_of(spec.exceptions.begin(), spec.exceptions.end(),
                  [&](const auto& exception) { return exception.first == key; }))
    throw InputError(fmt::format("{} is given twice", key));
  if (is_value) {
    spec.values[key] = value;
    return;
  }
  try {
    if (is_link)
      spec.links[key] = LinkChange::parse(value);
    else
      spec.exceptions.emplace_back(key, LinkChange::parse(value));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", key, error.what()));
  }
}

TopologySpec parse_kind(const TopologyKind& kind, std::string_view text) {
  TopologySpec spec;
  spec.kind = kind.name;
  const std::size_t colon = text.find(':');
  try {
    if (colon != std::string_view::npos)
      for (const std::string& part : split_settings(text.substr(colon + 1)))
        read_setting(kind, part, spec);
    kind.check(spec);
  } catch (const InputError& error) {
    throw InputError(fmt::format("topology {}: {}", in_quotes(text), error.what()));
  }
  return spec;
}

std::string file_text(const TopologySpec& spec) {
  std::vector<std::string> statements;
  for (const TopologySpec::FileSwitch& one : spec.switches)
    statements.push_back(one.hosts > 0 ? fmt::format("switch {} hosts={}", one.name, one.hosts)
                                       : "switch " + one.name);
  for (const TopologySpec::FileTrunk& trunk : spec.trunks)
    statements.push_back(fmt::format("link {} {}{}{}", trunk.a, trunk.b,
                                     trunk.link.empty() ? "" : " ", trunk.link.to_string()));
  for (const auto& [name, link] : spec.links)
    statements.push_back(fmt::format("{} {}", name, link.to_string()));
  for (const auto& [name, link] : spec.exceptions)
    statements.push_back(fmt::format("{} {}", name, link.to_string()));
  return fmt::format("{}", fmt::join(statements, "; "));
}

}  // namespace

std::string TopologySpec::to_string() const {
  if (!switches.empty()) return file_text(*this);
  std::vector<std::string> settings;
  for (const auto& [key, value] : values) settings.push_back(key + "=" + value);
  for (const auto& [key, link] : links)
    settings.push_back(fmt::format("{}=({})", key, link.to_string()));
  for (const auto& [key, link] : exceptions)
    settings.push_back(fmt::format("{}=({})", key, link.to_string()));
  return fmt::format("{}{}{}", kind, settings.empty() ? "" : ":", fmt::join(settings, ","));
}

TopologySpec parse_topology(std::string_view text) {
  const std::string name(text.substr(0, text.find(':')));
  if (const TopologyKind* kind = find_topology_kind(name)) return parse_kind(*kind, text);
  if (text.starts_with("switch ")) return parse_topology_statements(text, "topology");
  std::error_code error;  // the name may be too long for one
  if (std::filesystem::exists(text, error)) return read_topology_file(text);
  std::vector<std::string> known;
  for (const TopologyKind& kind : topology_kinds()) known.emplace_back(kind.name);
  throw InputError(fmt::format("topology {}: neither a file nor one of {}{}", in_quotes(text),
                               fmt::join(known, ", "), did_you_mean(name, known)));
}

}  // namespace thinpipe
