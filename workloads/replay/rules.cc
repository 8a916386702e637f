#include "workloads/replay/rules.h"

#include <fnmatch.h>

#include <algorithm>

#include <fmt/format.h>

#include "base/alternatives.h"
#include "base/error.h"
#include "base/text.h"

namespace thinpipe {

namespace {

bool is_plain(std::string_view text) {
  return text.find(';') == std::string_view::npos &&
         text.substr(0, text.find(':')).find_first_of("*?[") == std::string_view::npos;
}

}  // namespace

CompressorRules::CompressorRules(Spec all) { rules_.push_back({"", std::move(all)}); }

CompressorRules CompressorRules::parse(std::string_view text) {
  if (text.find('|') != std::string_view::npos)
    throw InputError(
        fmt::format("compressor rules {}: alternatives ('|') are not allowed here; one is wanted",
                    in_quotes(text)));
  return expand(text).front();
}

std::vector<CompressorRules> CompressorRules::expand(std::string_view text) {
  std::vector<CompressorRules> all;
  if (is_plain(text)) {
    for (Spec& spec : expand_specs(text)) all.emplace_back(std::move(spec));
    return all;
  }
  all.push_back(CompressorRules());
  for (const std::string& part : split(text, ';')) {
    if (part.empty()) continue;  // a `;` at the end
    const std::size_t colon = part.find(':');
    if (colon == 0 || colon == std::string::npos || colon + 1 == part.size())
      throw InputError(
          fmt::format("compressor rules {}: {} is no rule; expected NAMES:SPEC, such as "
                      "fc*:topk:ratio=0.01",
                      in_quotes(text), in_quotes(part)));
    const std::vector<Spec> specs = expand_specs(std::string_view(part).substr(colon + 1));
    check_alternatives(text, all.size(), specs.size());
    std::vector<CompressorRules> longer;
    for (const CompressorRules& rules : all)
      for (const Spec& spec : specs) {
        longer.push_back(rules);
        longer.back().rules_.push_back({part.substr(0, colon), spec});
      }
    all = std::move(longer);
  }
  if (all.front().rules_.empty())
    throw InputError(
        fmt::format("compressor rules {}: there is none; expected NAMES:SPEC parts joined by ';'",
                    in_quotes(text)));
  return all;
}

const Spec& CompressorRules::of(const std::string& tensor) const {
  for (const Rule& rule : rules_)
    if (rule.pattern.empty() || fnmatch(rule.pattern.c_str(), tensor.c_str(), 0) == 0)
      return rule.spec;
  return kUncompressed;
}

std::vector<Spec> CompressorRules::specs() const {
  std::vector<Spec> specs;
  const auto add = [&](const Spec& spec) {
    if (std::find(specs.begin(), specs.end(), spec) == specs.end()) specs.push_back(spec);
  };
  for (const Rule& rule : rules_) add(rule.spec);
  if (!uniform()) add(kUncompressed);
  return specs;
}

std::string CompressorRules::method() const { return uniform() ? rules_[0].spec.name : "rules"; }

std::string CompressorRules::to_string() const {
  if (uniform()) return rules_[0].spec.to_string();
  std::string text;
  for (const Rule& rule : rules_) text += rule.pattern + ":" + rule.spec.to_string() + ";";
  if (rules_.size() > 1) text.pop_back();
  return text;
}

}  // namespace thinpipe
