// Checked access to a JSON object's fields.
#include "reports/record/fields.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/error.h"

namespace thinpipe {
namespace {

// A found value is quoted in the message; a long one would bury it.
constexpr std::size_t kLongestQuote = 60;

std::string quote(const nlohmann::json& value) {
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > kLongestQuote) text = text.substr(0, kLongestQuote) + "...";
  return text;
}

std::string quoted(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "'" : ", '") + word + "'";
  return text;
}

}  // namespace

Fields::Fields(const nlohmann::json& object, std::string where, std::string path)
    : object_(object), where_(std::move(where)), path_(std::move(path)) {
  if (object_.is_object()) return;
  const std::string subject = path_.empty() ? "" : ": field '" + path_ + "'";
  throw InputError(where_ + subject + ": expected an object, found " + quote(object_));
}

void Fields::complain(const std::string& key, std::string_view expected) const {
  const auto found = object_.find(key);
  throw InputError(where_ + ": field '" + (path_.empty() ? key : path_ + "." + key) +
                   "': expected " + std::string(expected) +
                   (found == object_.end() ? ", but it is missing" : ", found " + quote(*found)));
}

const nlohmann::json& Fields::need(const std::string& key, std::string_view expected) const {
  const auto found = object_.find(key);
  if (found == object_.end()) complain(key, expected);
  return *found;
}

std::string Fields::text(const std::string& key) const {
  const nlohmann::json& value = need(key, "a string");
  if (!value.is_string()) complain(key, "a string");
  return value.get<std::string>();
}

std::string Fields::text_or(const std::string& key, const std::string& fallback) const {
  return has(key) ? text(key) : fallback;
}

std::string Fields::one_of(const std::string& key, const std::vector<std::string>& allowed) const {
  const std::string expected = "one of " + quoted(allowed);
  const nlohmann::json& value = need(key, expected);
  if (!value.is_string() || std::find(allowed.begin(), allowed.end(),
                                      value.get_ref<const std::string&>()) == allowed.end()) {
    complain(key, expected);
  }
  return value.get<std::string>();
}

double Fields::number_at_least(const std::string& key, double least) const {
  const std::string expected = least == 0 ? "a number of at least 0" : "a number";
  const nlohmann::json& value = need(key, expected);
  if (!value.is_number() || !(value.get<double>() >= least)) complain(key, expected);
  return value.get<double>();
}

double Fields::positive_number(const std::string& key) const {
  const nlohmann::json& value = need(key, "a positive number");
  if (!value.is_number() || !(value.get<double>() > 0)) complain(key, "a positive number");
  return value.get<double>();
}

std::int64_t Fields::integer(const std::string& key, std::int64_t least, std::int64_t most) const {
  const std::string expected =
      "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  const nlohmann::json& value = need(key, expected);
  // An unsigned number above 2^63 would turn negative when it is read as signed.
  const bool too_large = value.is_number_unsigned() &&
                         value.get<std::uint64_t>() >
                             static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!value.is_number_integer() || too_large || value.get<std::int64_t>() < least ||
      value.get<std::int64_t>() > most) {
    complain(key, expected);
  }
  return value.get<std::int64_t>();
}

std::uint64_t Fields::natural(const std::string& key) const {
  const nlohmann::json& value = need(key, "a whole number of at least 0");
  if (!value.is_number_integer() ||
      (!value.is_number_unsigned() && value.get<std::int64_t>() < 0)) {
    complain(key, "a whole number of at least 0");
  }
  return value.get<std::uint64_t>();
}

std::vector<std::string> Fields::texts(const std::string& key) const {
  const nlohmann::json& value = need(key, "an array of strings");
  if (!value.is_array()) complain(key, "an array of strings");
  std::vector<std::string> result;
  for (const nlohmann::json& element : value) {
    if (!element.is_string()) complain(key, "an array of strings");
    result.push_back(element.get<std::string>());
  }
  return result;
}

std::vector<double> Fields::numbers_or_nulls(const std::string& key) const {
  const nlohmann::json& value = need(key, "an array of numbers");
  if (!value.is_array()) complain(key, "an array of numbers");
  std::vector<double> result;
  result.reserve(value.size());
  for (const nlohmann::json& element : value) {
    if (!element.is_number() && !element.is_null()) complain(key, "an array of numbers");
    result.push_back(element.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                       : element.get<double>());
  }
  return result;
}

Fields Fields::object(const std::string& key) const {
  return {need(key, "an object"), where_, path_.empty() ? key : path_ + "." + key};
}

nlohmann::json Fields::object_or_empty(const std::string& key) const {
  return has(key) ? object(key).json() : nlohmann::json::object();
}

}  // namespace thinpipe
