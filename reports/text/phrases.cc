// Figures, lists and compressors' names for readers; escaping for Markdown and comma-separated
// values.
#include "reports/text/phrases.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/escape.h"
#include "base/key_values.h"
#include "base/text.h"

namespace thinpipe {
namespace {

bool is_rules(const std::string& spec) { return spec.find(';') != std::string::npos; }

// Writes a parameter only where some spec of that name lacks it.
std::string label_of(const std::string& spec, const std::map<std::string, int>& uses, int specs) {
  std::string label = spec_name(spec);
  for (const std::string& parameter : spec_parameters(spec))
    if (uses.at(parameter) < specs) label += " " + parameter;
  return label;
}

// Returns "allgather-" where the collectives of all ways begin with it.
std::string exchange_of_all(const std::set<std::string>& collectives) {
  const std::string& first = *collectives.begin();
  const std::string exchange = first.substr(0, first.find('-') + 1);
  const bool is_of_all = std::ranges::all_of(collectives, [&](const std::string& collective) {
    return collective.size() > exchange.size() && collective.starts_with(exchange);
  });
  return is_of_all ? exchange : "";
}

}  // namespace

std::string spec_name(const std::string& spec) {
  return is_rules(spec) ? spec : spec.substr(0, spec.find(':'));
}

std::string format_number(double value) {
  if (std::isnan(value)) return "not a number";
  if (std::isinf(value)) return value > 0 ? "infinite" : "-infinite";
  const double magnitude = std::abs(value);
  if (magnitude == 0) return "0";
  if (magnitude < 1e-3 || magnitude >= 1e6) return fmt::format("{:.2e}", value);
  const int digits_before = static_cast<int>(std::floor(std::log10(magnitude * 1.0005))) + 1;
  const int decimals = std::max(0, 3 - digits_before);
  std::string text = fmt::format("{:.{}f}", value, decimals);
  if (text.find('.') != std::string::npos) {  // 2.00 -> 2, 2.50 -> 2.5
    text.erase(text.find_last_not_of('0') + 1);
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

std::string format_percent(double fraction) { return format_number(100 * fraction) + " %"; }

std::string format_interval(const Estimate& estimate, std::string (*format)(double)) {
  if (!estimate.interval) return "no interval";
  return format(estimate.interval->low) + " to " + format(estimate.interval->high);
}

std::string counted(std::size_t count, const std::string& what, const std::string& plural) {
  return fmt::format("{} {}", count, count == 1 ? what : plural.empty() ? what + "s" : plural);
}

std::string joined(const std::vector<std::string>& parts, const std::string& separator) {
  std::string text;
  for (std::size_t i = 0; i < parts.size(); ++i) text += (i == 0 ? "" : separator) + parts[i];
  return text;
}

std::string listed(std::vector<std::string> names) {
  constexpr std::size_t kMaxNames = 5;
  if (names.size() > kMaxNames) {
    const std::size_t rest = names.size() - kMaxNames + 1;
    names.resize(kMaxNames - 1);
    names.push_back(std::to_string(rest) + " others");
  }
  if (names.size() < 2) return joined(names, "");
  const std::string last = names.back();
  names.pop_back();
  return joined(names, ", ") + " and " + last;
}

std::string baseline_words(const std::string& label) {
  return label == "none" ? "none (fp32)" : label;
}

std::vector<std::string> spec_parameters(const std::string& spec) {
  const std::size_t colon = is_rules(spec) ? std::string::npos : spec.find(':');
  if (colon == std::string::npos) return {};
  const std::string_view pairs = std::string_view(spec).substr(colon + 1);
  return split_outside(pairs, ',').value_or(split(pairs, ','));
}

SpecAmount split_amount(const std::string& spec) {
  SpecAmount found{.family = spec_name(spec), .amount = ""};
  char separator = ':';
  for (const std::string& parameter : spec_parameters(spec)) {
    if (parameter.starts_with("ratio=") ||
        (spec.starts_with("sbc") && parameter.starts_with("p="))) {
      found.amount = parameter;
      continue;
    }
    found.family += separator + parameter;
    separator = ',';
  }
  return found;
}

std::vector<std::string> short_labels(const std::vector<std::string>& specs) {
  std::map<std::string, int> count;
  std::map<std::string, std::map<std::string, int>> uses;
  for (const std::string& text : specs) {
    ++count[spec_name(text)];
    const std::vector<std::string> parameters = spec_parameters(text);
    for (const std::string& parameter : std::set(parameters.begin(), parameters.end()))
      ++uses[spec_name(text)][parameter];
  }
  std::vector<std::string> labels;
  std::map<std::string, int> taken;
  for (const std::string& text : specs) {
    labels.push_back(label_of(text, uses[spec_name(text)], count[spec_name(text)]));
    ++taken[labels.back()];
  }
  // Equal labels (an odd spec may repeat a key) are replaced by the whole specs.
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (taken[labels[i]] > 1) labels[i] = specs[i];
  }
  return labels;
}

std::vector<std::string> way_labels(const std::vector<Way>& ways) {
  std::set<std::string> collectives;
  std::map<std::string, std::size_t> uses;
  std::size_t bucketed = 0;
  for (const Way& way : ways) {
    collectives.insert(way.collective);
    if (way.bucketing.empty()) continue;
    ++bucketed;
    for (const std::string& part : split(way.bucketing, ';')) ++uses[part];
  }
  const std::size_t exchange = collectives.empty() ? 0 : exchange_of_all(collectives).size();
  std::vector<std::string> labels;
  for (const Way& way : ways) {
    std::vector<std::string> pieces;
    if (collectives.size() > 1) pieces.push_back(way.collective.substr(exchange));
    const std::size_t before = pieces.size();
    if (!way.bucketing.empty() && ways.size() > 1) {
      const std::vector<std::string> parts = split(way.bucketing, ';');
      for (const std::string& part : parts)
        if (uses[part] < bucketed) pieces.push_back(part);
      // All ways with a bucketing have this one; only the default ways differ.
      if (pieces.size() == before && bucketed < ways.size()) pieces.push_back(parts.front());
    }
    std::string label;
    for (const std::string& piece : pieces) label += (label.empty() ? "" : ", ") + piece;
    labels.push_back(label);
  }
  // Equal labels are replaced by collective and bucketing as a whole.
  for (std::size_t i = 0; i < ways.size(); ++i)
    for (std::size_t j = 0; j < ways.size(); ++j)
      if (i != j && labels[i] == labels[j])
        labels[i] =
            ways[i].collective + (ways[i].bucketing.empty() ? "" : ", " + ways[i].bucketing);
  return labels;
}

std::string escape_markdown(std::string_view text) {
  // Parentheses have a meaning only after brackets, which are escaped.
  constexpr std::string_view kPunctuation = "\\`*_[]#|~";
  std::string escaped;
  for (const char byte : text) {
    if (byte == '\n' || byte == '\t') {
      escaped += ' ';
    } else if (kPunctuation.find(byte) != std::string_view::npos ||
               (byte == '+' && escaped.empty())) {  // would begin a list
      escaped += '\\';
      escaped += byte;
    } else if (byte == '<' || byte == '>' || byte == '&') {
      escaped += escape_html(std::string_view(&byte, 1));
    } else if (is_control(byte)) {
      escaped += kReplacement;
    } else {
      escaped += byte;
    }
  }
  // Markdown readers turn a bare address into a link; reports have no links from records.
  replace_all(escaped, "://", "&#58;//");
  return escaped;
}

std::string escape_csv(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace thinpipe
