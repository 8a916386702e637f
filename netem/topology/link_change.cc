#include "netem/topology/link_change.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "netem/link/link_keys.h"

namespace thinpipe {

namespace {

using Pairs = std::vector<std::pair<std::string, std::string>>;

Pairs split_pairs(std::string_view text) {
  Pairs pairs;
  if (text == kUnthrottled) return pairs;
  for (const std::string& part : split(text, ',')) {
    const std::size_t equals = part.find('=');
    pairs.emplace_back(part.substr(0, equals),
                       equals == std::string::npos ? "" : part.substr(equals + 1));
  }
  return pairs;
}

bool is_rate(std::string_view key) {
  return key == "rate" || key == "up.rate" || key == "down.rate";
}

bool is_directed(std::string_view key) {
  return key.starts_with("up.") || key.starts_with("down.");
}

bool is_multiple(const std::string& key, const std::string& value) {
  return is_rate(key) && value.size() > 1 && value.back() == 'x';
}

double multiple(const std::string& key, const std::string& value) {
  const auto factor = parse_number_with<double>("x", value, 0);
  if (!factor || *factor == 0)
    throw InputError(fmt::format(
        "link: {}={} is neither a rate (such as 10mbit) nor a multiple of the link (such as 0.1x)",
        key, excerpt(value)));
  return *factor;
}

std::string rate_text(double rate) {
  constexpr std::string_view kKey = "rate=";
  return parse_link_spec(fmt::format("{}{}bit", kKey, rate)).to_string().substr(kKey.size());
}

std::string join(const Pairs& pairs) {
  std::string text;
  for (const auto& [key, value] : pairs)
    text += (text.empty() ? "" : ",") + key + (value.empty() ? "" : "=" + value);
  return text;
}

// Parses the value, which throws if invalid. Returns false for an unknown key or an empty value.
bool check_value(std::string_view key, const std::string& value) {
  if (value.empty()) return false;
  LinkSpec scratch;
  for (const LinkKey& known : link_keys())
    if (key == known.name) return known.read(scratch, value), true;
  for (const std::string_view prefix : {"up.", "down."})
    if (key.starts_with(prefix)) key.remove_prefix(prefix.size());
  for (const DirectionKey& known : direction_keys())
    if (key == known.name) return known.read(scratch.down, value), true;
  return false;
}

void replace(Pairs& pairs, const std::string& key, const std::string& value) {
  std::erase_if(pairs, [&](const auto& pair) {
    return pair.first == key || pair.first == "up." + key || pair.first == "down." + key;
  });
  pairs.emplace_back(key, value);
}

void replace_by_multiple(Pairs& pairs, const std::string& key, double factor,
                         const LinkSpec& reference) {
  const Pairs known = split_pairs(reference.to_string());
  Pairs scaled;
  for (const auto& [name, value] : known)
    if (is_rate(name) && (name == key || key == "rate"))
      scaled.emplace_back(name, rate_text(parse_rate(value) * factor));
  if (scaled.empty())  // up.rate=2x of a link with one rate for both directions
    for (const auto& [name, value] : known)
      if (name == "rate") scaled.emplace_back(key, rate_text(parse_rate(value) * factor));
  if (scaled.empty())
    throw InputError(fmt::format("link: {}={}x is a multiple of link {}, which has no rate", key,
                                 factor, reference.to_string()));
  for (const auto& [name, value] : scaled) replace(pairs, name, value);
}

}  // namespace

LinkChange LinkChange::parse(std::string_view text) {
  if (text.size() >= 2 && text.front() == '(' && text.back() == ')')
    text = text.substr(1, text.size() - 2);
  if (text.empty()) throw InputError("expected a link such as (rate=10mbit), found nothing");
  if (text.find('|') != std::string_view::npos)
    throw InputError(fmt::format(
        "link {}: only --link has alternatives (|); a topology has one value", in_quotes(text)));
  LinkChange change;
  if (text == kUnthrottled) {
    change.pairs_.emplace_back(kUnthrottled, "");
    return change;
  }
  change.pairs_ = split_pairs(text);
  // Each key is checked separately here, so that errors name the text. Keys are not checked in
  // combination: a key that another key needs may be in the link to which this change is applied.
  std::set<std::string> seen;
  for (const auto& [key, value] : change.pairs_) {
    if (!seen.insert(key).second)
      throw InputError(fmt::format("link {}: {} is given twice", in_quotes(text), key));
    if (is_multiple(key, value))
      multiple(key, value);
    else if (!check_value(key, value))
      parse_link_spec(join({{key, value}}));  // accepts a preset's name, or throws
  }
  return change;
}

LinkSpec LinkChange::applied_to(const LinkSpec& base, const LinkSpec& reference) const {
  if (pairs_.empty()) return base;
  // A key without a value is a preset's name or `unthrottled`, which replaces the base.
  const std::string& first = pairs_.front().first;
  Pairs result = pairs_.front().second.empty() ? Pairs{} : split_pairs(base.to_string());
  // As in parse_link_spec(), a key with a prefix overrides the key without it, in any order.
  for (const bool directed : {false, true})
    for (const auto& [key, value] : pairs_) {
      if (is_directed(key) != directed || (key == kUnthrottled && key == first)) continue;
      if (is_multiple(key, value))
        replace_by_multiple(result, key, multiple(key, value), reference);
      else
        replace(result, key, value);
    }
  return result.empty() ? LinkSpec{} : parse_link_spec(join(result));
}

std::string LinkChange::to_string() const {
  Pairs sorted = pairs_;
  // A name, which has no value, stays in front. The rates follow.
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return std::tuple(!a.second.empty(), !is_rate(a.first), a.first) <
           std::tuple(!b.second.empty(), !is_rate(b.first), b.first);
  });
  for (auto& [key, value] : sorted)
    if (is_rate(key) && !value.empty() && !is_multiple(key, value))
      value = rate_text(parse_rate(value));
  return join(sorted);
}

}  // namespace thinpipe
