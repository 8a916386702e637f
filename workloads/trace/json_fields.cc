#include "workloads/trace/json_fields.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/text.h"
#include "base/visible.h"

namespace thinpipe {

namespace {

using nlohmann::json;

// Maximum depth of nested JSON. It is deeper than any of thinpipe's formats (trace.json needs 6),
// and shallow enough for recursive code on a small stack.
constexpr int kMaxDepth = 64;

std::string key_place(const std::string& place, std::string_view key) {
  return place.empty() ? printable(key) : place + "." + printable(key);
}

}  // namespace

std::string printable(std::string_view text) {
  constexpr std::size_t kLongest = 48;
  const std::string shown = visible_line(text.substr(0, kLongest));
  return text.size() > kLongest ? shown + "..." : shown;
}

json parse_json_strictly(std::string_view text, const std::string& file) {
  std::vector<std::set<std::string>> keys;
  const auto check = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kMaxDepth) {
      throw InputError(fmt::format("{}: nested deeper than {} levels", file, kMaxDepth));
    }
    if (event == json::parse_event_t::object_start) {
      keys.emplace_back();
    } else if (event == json::parse_event_t::object_end) {
      keys.pop_back();
    } else if (event == json::parse_event_t::key) {
      const auto& key = parsed.get_ref<const std::string&>();
      if (!keys.back().insert(key).second) {
        throw InputError(
            fmt::format("{}: the name \"{}\" appears twice in one object", file, printable(key)));
      }
    }
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), check);
  } catch (const json::exception& error) {
    // Removes the library's prefix "[json.exception.parse_error.101] ".
    std::string_view what = error.what();
    what.remove_prefix(std::min(what.find("] ") + 2, what.size()));
    throw InputError(fmt::format("{}: not JSON: {}", file, what.substr(0, 240)));
  }
}

json parse_json_file(const MappedFile& mapped, const std::string& file, std::size_t max_bytes) {
  const std::span<const std::byte> bytes = mapped.bytes();
  if (bytes.size() > max_bytes) {
    throw InputError(
        fmt::format("{}: {} bytes, expected at most {}", file, bytes.size(), max_bytes));
  }
  return parse_json_strictly({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file);
}

std::string describe_json(const json& value) {
  switch (value.type()) {
    case json::value_t::object:
      return fmt::format("an object of {} members", value.size());
    case json::value_t::array:
      return fmt::format("an array of {} values", value.size());
    case json::value_t::string:
      return fmt::format("\"{}\"", printable(value.get_ref<const std::string&>()));
    default:
      return value.dump();
  }
}

JsonField::JsonField(const json& value, std::string file, std::string place)
    : value_(&value), file_(std::move(file)), place_(std::move(place)) {}

void JsonField::fail(const std::string& what) const {
  throw InputError(place_.empty() ? fmt::format("{}: {}", file_, what)
                                  : fmt::format("{}: {}: {}", file_, place_, what));
}

JsonField JsonField::at(std::string_view key) const {
  if (!value_->is_object()) fail("expected an object, found " + describe_json(*value_));
  const auto found = value_->find(key);
  if (found == value_->end()) {
    throw InputError(fmt::format("{}: {}: missing", file_, key_place(place_, key)));
  }
  return {*found, file_, key_place(place_, key)};
}

bool JsonField::has(std::string_view key) const {
  return value_->is_object() && value_->find(key) != value_->end();
}

std::size_t JsonField::size() const {
  if (!value_->is_array()) fail("expected an array, found " + describe_json(*value_));
  return value_->size();
}

JsonField JsonField::at(std::size_t index) const {
  if (index >= size()) fail(fmt::format("expected more than {} values", index));
  return {(*value_)[index], file_, fmt::format("{}[{}]", place_, index)};
}

std::string JsonField::string() const {
  if (!value_->is_string()) fail("expected a string, found " + describe_json(*value_));
  return value_->get<std::string>();
}

bool JsonField::boolean() const {
  if (!value_->is_boolean()) fail("expected true or false, found " + describe_json(*value_));
  return value_->get<bool>();
}

std::uint64_t JsonField::unsigned_integer(std::uint64_t at_least, std::uint64_t at_most) const {
  // The JSON parser stores an integer in the signed type only if it is negative. JSON values made
  // in C++ may store any integer in the signed type.
  const bool whole = value_->is_number_unsigned() ||
                     (value_->is_number_integer() && value_->get<std::int64_t>() >= 0);
  const auto number = whole ? value_->get<std::uint64_t>() : 0;
  const bool fits = whole && number >= at_least && number <= at_most;
  if (!fits) {
    const std::string bounds = at_most == UINT64_MAX
                                   ? fmt::format("of at least {}", at_least)
                                   : fmt::format("from {} to {}", at_least, at_most);
    fail(fmt::format("expected an integer {}, found {}", bounds, describe_json(*value_)));
  }
  return number;
}

double JsonField::number(double at_least, double at_most) const {
  const bool fits = value_->is_number() && std::isfinite(value_->get<double>()) &&
                    value_->get<double>() >= at_least && value_->get<double>() <= at_most;
  if (!fits) {
    const std::string bounds = at_most > 1e300 ? fmt::format("of at least {}", at_least)
                                               : fmt::format("from {} to {}", at_least, at_most);
    fail(fmt::format("expected a number {}, found {}", bounds, describe_json(*value_)));
  }
  return value_->get<double>();
}

std::vector<std::int64_t> JsonField::shape(std::uint64_t at_least) const {
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> dimensions;
  for (std::size_t axis = 0; axis < size(); ++axis) {
    dimensions.push_back(static_cast<std::int64_t>(at(axis).unsigned_integer(at_least, kMax)));
  }
  return dimensions;
}

void JsonField::allow_only(const std::vector<std::string>& keys) const {
  if (!value_->is_object()) fail("expected an object, found " + describe_json(*value_));
  for (const auto& [key, ignored] : value_->items()) {
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      fail(fmt::format("unknown member \"{}\"{}", printable(key), did_you_mean(key, keys)));
    }
  }
}

}  // namespace thinpipe
