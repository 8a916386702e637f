// Parses a gate's policy from an INI file: sections in brackets, lines `key = value`, and comment
// lines that begin with # or ;.
#include "reports/gate/gate.h"

#include <fnmatch.h>

#include <cmath>
#include <functional>
#include <utility>

#include "base/error.h"
#include "base/input_file.h"
#include "base/text.h"
#include "reports/record/metrics.h"

namespace thinpipe {
namespace {

// A value, with its file, line and key for errors.
struct Setting {
  std::string where, key;
  std::string_view value;

  [[noreturn]] void complain(const std::string& expected) const {
    throw InputError(where + ": " + key + ": expected " + expected + ", found " + in_quotes(value));
  }
  double number() const {
    const auto result = parse_number<double>(value);
    if (!result) complain("a number");
    return *result;
  }
  // "2%" or "0.02"
  double fraction() const {
    Setting bare = *this;
    const bool percent = value.ends_with('%');
    if (percent) bare.value = trimmed(value.substr(0, value.size() - 1));
    const double result = bare.number() / (percent ? 100 : 1);
    if (!(result > 0 && result < 1)) complain("a fraction above 0 and below 100 %, as 2% or 0.02");
    return result;
  }
  int count(int least, int most) const {
    const double result = number();
    if (result != std::floor(result) || result < least || result > most)
      complain("a whole number from " + std::to_string(least) + " to " + std::to_string(most));
    return static_cast<int>(result);
  }
  bool truth() const {
    if (value == "true" || value == "yes" || value == "1") return true;
    if (value == "false" || value == "no" || value == "0") return false;
    complain("true or false");
  }
};

// Functions that set a field, by key.
using Setters = std::vector<std::pair<std::string, std::function<void()>>>;

void apply(const Setting& setting, const Setters& setters) {
  std::vector<std::string> known;
  for (const auto& [key, set] : setters) {
    if (key == setting.key) return set();
    known.push_back(key);
  }
  throw InputError(setting.where + ": unknown key " + in_quotes(setting.key) + " in this section" +
                   did_you_mean(setting.key, known));
}

void set_general(const Setting& setting, GatePolicy& policy) {
  constexpr int kMaxPairs = 1000, kMaxLooks = 6;
  apply(setting, {{"margin", [&] { policy.margin = setting.fraction(); }},
                  {"stored_margin", [&] { policy.stored_margin = setting.fraction(); }},
                  {"quality_margin", [&] { policy.quality_margin = setting.fraction(); }},
                  {"alpha", [&] { policy.alpha = setting.fraction(); }},
                  {"pairs", [&] { policy.pairs = setting.count(4, kMaxPairs); }},
                  {"looks", [&] { policy.looks = setting.count(1, kMaxLooks); }}});
}

void set_bound(const Setting& setting, const MetricRule& rule, std::optional<double>& bound) {
  for (const MetricType& one : kMetricTypes)
    if (rule.metric == one.name && one.kind != std::string_view("quality"))
      throw InputError(setting.where + ": " + in_quotes(setting.key) +
                       " is for metrics of quality; " + one.name + " is " + one.kind);
  bound = setting.number();
}

void set_rule(const Setting& setting, MetricRule& rule) {
  apply(setting, {{"margin", [&] { rule.margin = setting.fraction(); }},
                  {"ignore", [&] { rule.ignore = setting.truth(); }},
                  {"least", [&] { set_bound(setting, rule, rule.least); }},
                  {"most", [&] { set_bound(setting, rule, rule.most); }}});
}

// "encode_time", "encode_* of topk*"
MetricRule parse_section(std::string_view title) {
  MetricRule rule;
  const std::size_t of = title.find(" of ");
  rule.metric = std::string(trimmed(title.substr(0, of)));
  if (of != std::string_view::npos) rule.point = std::string(trimmed(title.substr(of + 4)));
  return rule;
}

bool matches(const std::string& glob, const std::string& name) {
  return fnmatch(glob.c_str(), name.c_str(), 0) == 0;
}

}  // namespace

std::vector<MetricRule> GatePolicy::machine_rules() {
  std::vector<MetricRule> rules;
  for (const MetricType& metric :
       {"read_time"_metric, "encode_floor"_metric, "compute_time"_metric, "ideal_time"_metric,
        "noop_time"_metric, "link_idle_time"_metric, "wire_bytes"_metric})
    rules.push_back({.metric = metric, .ignore = true});
  return rules;
}

GateMargins GatePolicy::of(const std::string& point, const std::string& metric,
                           double standard) const {
  GateMargins margins{.margin = standard};
  for (const MetricRule& rule : rules) {
    if (!matches(rule.metric, metric) || !matches(rule.point, point)) continue;
    if (rule.ignore) margins.ignore = *rule.ignore;
    if (rule.margin) margins.margin = *rule.margin;
    if (rule.least) margins.least = rule.least;
    if (rule.most) margins.most = rule.most;
  }
  return margins;
}

GatePolicy parse_policy(std::string_view text, const std::filesystem::path& name) {
  GatePolicy policy;
  enum class Section { kNone, kGeneral, kRule } section = Section::kNone;
  int number = 0;
  for (const std::string& whole : split(text, '\n')) {
    const std::string where = name.string() + " line " + std::to_string(++number);
    const std::string_view line = trimmed(whole);
    if (line.empty() || line[0] == '#' || line[0] == ';') continue;
    if (line[0] == '[') {
      const std::string_view title = trimmed(line.substr(1, line.size() - 2));
      if (line.back() != ']' || title.empty())
        throw InputError(where + ": expected a section, as [gate] or [encode_time], found '" +
                         std::string(line) + "'");
      section = title == "gate" ? Section::kGeneral : Section::kRule;
      if (section == Section::kRule) policy.rules.push_back(parse_section(title));
      continue;
    }
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || section == Section::kNone)
      throw InputError(where +
                       (section == Section::kNone ? ": expected a section first, as [gate], found '"
                                                  : ": expected 'key = value', found '") +
                       std::string(line) + "'");
    const Setting setting{where, std::string(trimmed(line.substr(0, equals))),
                          trimmed(line.substr(equals + 1))};
    if (section == Section::kGeneral)
      set_general(setting, policy);
    else
      set_rule(setting, policy.rules.back());
  }
  return policy;
}

GatePolicy read_policy(const std::filesystem::path& file) {
  constexpr std::uint64_t kMaxBytes = 1 << 20;  // some 20,000 rules; policies have a dozen
  return parse_policy(read_input(file, "a gate's policy", kMaxBytes), file);
}

}  // namespace thinpipe
