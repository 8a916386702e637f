#include "workloads/capture/spec_values.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace thinpipe {

SpecValues::SpecValues(std::string_view text, std::string what) : what_(std::move(what)) {
  try {
    spec_ = parse_spec(text);
  } catch (const InputError& error) {
    throw InputError(what_ + ": " + error.what());
  }
}

void SpecValues::fail(const std::string& problem) const {
  throw InputError(fmt::format("{} {}: {}", what_, in_quotes(spec_.to_string()), problem));
}

double SpecValues::parse(const std::string& key, std::string_view value, double least,
                         double most) const {
  const auto number = parse_number<double>(value, least, most);
  if (!number) {
    fail(fmt::format("{}: found {}, expected a number from {:g} to {:g}", key, in_quotes(value),
                     least, most));
  }
  return *number;
}

double SpecValues::number(const std::string& key, double otherwise, double least,
                          double most) const {
  const auto found = spec_.values.find(key);
  return found == spec_.values.end() ? otherwise : parse(key, found->second, least, most);
}

bool SpecValues::flag(const std::string& key, bool otherwise) const {
  const auto found = spec_.values.find(key);
  if (found == spec_.values.end()) return otherwise;
  if (found->second != "0" && found->second != "1") {
    fail(fmt::format("{}: found {}, expected 0 or 1", key, in_quotes(found->second)));
  }
  return found->second == "1";
}

std::vector<double> SpecValues::numbers(const std::string& key, double least, double most) const {
  std::vector<double> numbers;
  const auto found = spec_.values.find(key);
  if (found == spec_.values.end()) return numbers;
  for (const std::string& part : split(found->second, '/')) {
    numbers.push_back(parse(key, part, least, most));
  }
  return numbers;
}

void SpecValues::expect_name(const std::vector<std::string>& names) const {
  if (std::find(names.begin(), names.end(), spec_.name) != names.end()) return;
  fail(
      fmt::format("expected one of {}{}", fmt::join(names, ", "), did_you_mean(spec_.name, names)));
}

void SpecValues::expect_keys(const std::vector<std::string>& keys) const {
  for (const auto& [key, value] : spec_.values) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    fail(fmt::format("{} is not known; expected {}{}", in_quotes(key),
                     keys.empty() ? "no keys" : fmt::format("{}", fmt::join(keys, ", ")),
                     did_you_mean(key, keys)));
  }
}

}  // namespace thinpipe
