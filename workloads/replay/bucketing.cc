#include "workloads/replay/bucketing.h"

#include <fnmatch.h>

#include <algorithm>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/key_values.h"
#include "base/text.h"
#include "base/units.h"
#include "compressors/registry.h"

namespace thinpipe {
namespace {

bool is_plain(std::string_view text) {
  return text.find(';') == std::string_view::npos &&
         text.substr(0, text.find(':')).find_first_of("*?[") == std::string_view::npos;
}

// The names of the values of an enumeration, in order.
constexpr const char* kGranularities[] = {"tensor", "bucket", "model"};
constexpr const char* kOverlaps[] = {"none", "bucket"};

template <class Value>
Value one_of(std::span<const char* const> known, const std::string& text, const char* what) {
  const std::vector<std::string> names(known.begin(), known.end());
  const auto found = std::find(names.begin(), names.end(), text);
  if (found == names.end())
    throw InputError(fmt::format("{} {}; expected {}{}", what, in_quotes(text),
                                 fmt::join(names, ", "), did_you_mean(text, names)));
  return static_cast<Value>(found - names.begin());
}

// Returns the bytes that a key has; `otherwise` where it is not given.
std::size_t take_bytes(KeyValues& items, const std::string& key, std::size_t otherwise) {
  constexpr double kMax = 1e12;
  const std::optional<std::string> text = items.find(key);
  if (!text) return otherwise;
  const double bytes = items.read(key, *text, parse_size);
  if (bytes < 1 || bytes > kMax)
    items.fail_value(key, *text, "expected at least 1 byte and at most 1e12");
  return static_cast<std::size_t>(bytes);
}

// Returns the size as parse_size() reads it, in the greatest unit that leaves a whole number.
std::string size_text(std::size_t bytes) {
  if (bytes % (1 << 20) == 0) return fmt::format("{}mb", bytes >> 20);
  if (bytes % (1 << 10) == 0) return fmt::format("{}kb", bytes >> 10);
  return fmt::format("{}b", bytes);
}

}  // namespace

CompressorRules::CompressorRules(Spec all) { rules_.push_back({"", std::move(all)}); }

CompressorRules CompressorRules::parse(std::string_view text) {
  if (text.find('|') != std::string_view::npos)
    throw InputError(
        fmt::format("compressor rules {}: alternatives ('|') are not allowed; give one rule set",
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
        fmt::format("compressor rules {}: found no rule; expected NAMES:SPEC rules joined by ';'",
                    in_quotes(text)));
  return all;
}

const Spec& CompressorRules::of(const std::string& tensor) const {
  for (const Rule& rule : rules_)
    if (rule.matches(tensor)) return rule.spec;
  return kUncompressed;
}

std::vector<std::string> CompressorRules::unmatched(std::span<const std::string> tensors) const {
  std::vector<std::string> patterns;
  for (const Rule& rule : rules_)
    if (std::ranges::none_of(tensors, [&](const auto& tensor) { return rule.matches(tensor); }))
      patterns.push_back(rule.pattern);
  return patterns;
}

bool CompressorRules::Rule::matches(const std::string& tensor) const {
  return pattern.empty() || fnmatch(pattern.c_str(), tensor.c_str(), 0) == 0;
}

std::vector<Spec> CompressorRules::specs() const {
  std::vector<Spec> specs;
  for (const Rule& rule : rules_) add_once(specs, rule.spec);
  if (!uniform()) add_once(specs, kUncompressed);
  return specs;
}

std::string CompressorRules::to_string() const {
  if (uniform()) return rules_[0].spec.to_string();
  std::string text;
  for (const Rule& rule : rules_) text += rule.pattern + ":" + rule.spec.to_string() + ";";
  if (rules_.size() > 1) text.pop_back();
  return text;
}

CompressorRules CompressorRules::normal() const {
  CompressorRules rules = *this;
  for (Rule& rule : rules.rules_) rule.spec = parameters_of(rule.spec).normal();
  return rules;
}

BucketLimits BucketLimits::parse(const std::string& text) {
  BucketLimits limits;
  if (text == "ddp") return limits;
  if (text.find('=') == std::string::npos)
    throw InputError(fmt::format("buckets {}: expected ddp, or first=SIZE,rest=SIZE,order=ORDER",
                                 in_quotes(text)));
  KeyValues items("buckets", text, text);
  limits.first = take_bytes(items, "first", limits.first);
  limits.rest = take_bytes(items, "rest", limits.rest);
  limits.order = static_cast<Order>(items.choice("order", {"ready", "reverse"}));
  items.finish("ddp alone");
  return limits;
}

std::string BucketLimits::to_string() const {
  if (*this == BucketLimits()) return "ddp";
  return fmt::format("first={},rest={},order={}", size_text(first), size_text(rest),
                     order == Order::kReady ? "ready" : "reverse");
}

const char* to_string(Granularity granularity) {
  return kGranularities[static_cast<std::size_t>(granularity)];
}

const char* to_string(Overlap overlap) { return kOverlaps[static_cast<std::size_t>(overlap)]; }

Granularity parse_granularity(const std::string& text) {
  return one_of<Granularity>(kGranularities, text, "granularity");
}

Overlap parse_overlap(const std::string& text) {
  return one_of<Overlap>(kOverlaps, text, "overlap");
}

std::string Bucketing::to_string() const {
  std::vector<std::string> parts;
  const auto say = [&](bool differs, const std::string& part) {
    if (differs) parts.push_back(part);
  };
  say(granularity != Granularity::kTensor,
      fmt::format("granularity={}", thinpipe::to_string(granularity)));
  say(min_elements != 0, fmt::format("min_elements={}", min_elements));
  say(overlap != Overlap::kNone, fmt::format("overlap={}", thinpipe::to_string(overlap)));
  say(codec_beside, "codec=thread");
  say(limits != BucketLimits(), fmt::format("buckets={}", limits.to_string()));
  say(local_steps != 1, fmt::format("local_steps={}", local_steps));
  say(fragments != 1, fmt::format("fragments={}", fragments));
  say(fragment_delay != 0, fmt::format("fragment_delay={}", fragment_delay));
  say(fragment_mix != kFragmentMix, fmt::format("fragment_mix={}", fragment_mix));
  if (outer) parts.push_back("outer=" + outer->to_string());
  say(epoch != 0, fmt::format("epoch={}", epoch));
  return fmt::format("{}", fmt::join(parts, ";"));
}

}  // namespace thinpipe
