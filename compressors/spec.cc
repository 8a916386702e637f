// Parses `name:key=value,...` and expands alternatives.
#include "compressors/spec.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/key_values.h"
#include "base/text.h"

namespace thinpipe {
namespace {

constexpr std::string_view kWordLetters = "abcdefghijklmnopqrstuvwxyz0123456789_-";
constexpr std::string_view kValueLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-/";

/// A spec whose name and values may still hold alternatives, in the order of the text.
struct Alternatives {
  std::vector<std::string> names;
  std::vector<std::pair<std::string, std::vector<std::string>>> values;
};

[[noreturn]] void fail(std::string_view text, const std::string& problem) {
  throw InputError("spec " + in_quotes(text) + ": " + problem +
                   "; expected name:key=value,key=value");
}

void check_letters(std::string_view text, const std::string& what, std::string_view word,
                   std::string_view letters) {
  if (word.empty()) fail(text, "empty " + what);
  const std::size_t bad = word.find_first_not_of(letters);
  if (bad == std::string_view::npos) return;
  const auto byte = static_cast<unsigned char>(word[bad]);
  const bool printable = byte >= 0x20 && byte < 0x7f;
  fail(text, printable ? "'" + std::string(1, word[bad]) + "' is not allowed in the " + what + " " +
                             in_quotes(word)
                       : "unprintable character in the " + what);
}

// Splits a section of a spec. Parentheses stay whole.
std::vector<std::string> parts_of(std::string_view text, std::string_view part, char separator) {
  auto parts = split_outside(part, separator);
  if (!parts) fail(text, "its parentheses do not match or are nested");
  return *std::move(parts);
}

// Returns the alternatives of a value, which `|` separates. A value in parentheses is itself a spec
// and expands to all alternatives of that spec.
std::vector<std::string> values_of(std::string_view text, const std::string& key,
                                   std::string_view written) {
  std::vector<std::string> values;
  for (const std::string& value : parts_of(text, written, '|')) {
    if (!value.starts_with('(')) {
      check_letters(text, "value of " + in_quotes(key), value, kValueLetters);
      values.push_back(value);
      continue;
    }
    if (!value.ends_with(')')) fail(text, in_quotes(value) + " continues after its parenthesis");
    for (const Spec& spec : expand_specs(std::string_view(value).substr(1, value.size() - 2)))
      values.push_back("(" + spec.to_string() + ")");
  }
  return values;
}

Alternatives parse(std::string_view text) {
  const std::size_t colon = text.find(':');
  Alternatives parsed;
  parsed.names = split(text.substr(0, colon), '|');
  for (const std::string& name : parsed.names) check_letters(text, "name", name, kWordLetters);
  if (colon == std::string_view::npos) return parsed;
  const std::string_view rest = text.substr(colon + 1);
  if (rest.empty()) fail(text, "nothing after ':'");
  for (const std::string& item : parts_of(text, rest, ',')) {
    const std::size_t equals = item.find('=');
    if (item.empty()) fail(text, "empty item between commas");
    if (equals == std::string::npos) fail(text, in_quotes(item) + " has no '='");
    const std::string key = item.substr(0, equals);
    check_letters(text, "key", key, kWordLetters);
    const auto same = [&](const auto& value) { return value.first == key; };
    if (std::any_of(parsed.values.begin(), parsed.values.end(), same)) {
      fail(text, "key " + in_quotes(key) + " is given twice");
    }
    parsed.values.emplace_back(key,
                               values_of(text, key, std::string_view(item).substr(equals + 1)));
  }
  return parsed;
}

}  // namespace

std::string Spec::to_string() const {
  std::string text = name;
  char separator = ':';
  for (const auto& [key, value] : values) {
    text += separator + key + "=" + value;
    separator = ',';
  }
  return text;
}

Spec parse_spec(std::string_view text) {
  if (text.find('|') != std::string_view::npos) {
    fail(text, "alternatives ('|') are not allowed; give one spec");
  }
  const Alternatives parsed = parse(text);
  Spec spec{.name = parsed.names.front(), .values = {}};
  for (const auto& [key, values] : parsed.values) spec.values[key] = values.front();
  return spec;
}

Spec spec_of_value(std::string_view value) {
  const bool wrapped = value.size() > 1 && value.starts_with('(') && value.ends_with(')');
  return parse_spec(wrapped ? value.substr(1, value.size() - 2) : value);
}

std::vector<Spec> expand_specs(std::string_view text) {
  const Alternatives parsed = parse(text);
  std::vector<Spec> specs;
  check_alternatives(text, 1, parsed.names.size());
  for (const std::string& name : parsed.names) specs.push_back({.name = name, .values = {}});
  // The last key of the text varies fastest.
  for (const auto& [key, values] : parsed.values) {
    check_alternatives(text, specs.size(), values.size());
    std::vector<Spec> expanded;
    expanded.reserve(specs.size() * values.size());
    for (const Spec& spec : specs) {
      for (const std::string& value : values) {
        expanded.push_back(spec);
        expanded.back().values[key] = value;
      }
    }
    specs = std::move(expanded);
  }
  return specs;
}

}  // namespace thinpipe
