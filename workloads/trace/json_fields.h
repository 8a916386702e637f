// JSON from outside, read strictly: every wrong field is an InputError naming file and place.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"

namespace thinpipe {

/// Parses one JSON text. Stricter than the grammar: a name that stands twice in one object and
/// nesting deeper than 64 are errors, so that two readers cannot disagree on what a file says.
/// @param file names the source in messages.
/// @throws InputError
nlohmann::json parse_json_strictly(std::string_view text, const std::string& file);

/// One JSON value and where it stands, e.g. "trace.json" and "steps[3].workers[0].ready".
/// Every accessor throws InputError "<file>: <place>: expected ..., found ...".
/// Borrows the value: it must outlive the field.
class JsonField {
 public:
  JsonField(const nlohmann::json& value, std::string file, std::string place = "");

  const nlohmann::json& value() const { return *value_; }
  const std::string& place() const { return place_; }

  JsonField at(std::string_view key) const;  ///< required member of an object
  bool has(std::string_view key) const;      ///< false also when this is no object
  JsonField at(std::size_t index) const;     ///< element of an array; index < size()
  std::size_t size() const;                  ///< length of an array

  std::string string() const;  ///< any string
  bool boolean() const;
  std::uint64_t unsigned_integer(std::uint64_t at_least = 0,
                                 std::uint64_t at_most = UINT64_MAX) const;
  double number(double at_least, double at_most) const;  ///< finite and within the bounds

  /// Refuses members other than these, with the nearest one in the message.
  void allow_only(std::initializer_list<std::string_view> keys) const;

  /// "<file>: <place>: <what>", thrown.
  [[noreturn]] void fail(const std::string& what) const;

 private:
  const nlohmann::json* value_;
  std::string file_;
  std::string place_;
};

/// Text from outside for a message: what visible_line() shows of its first 48 bytes.
std::string printable(std::string_view text);

/// A short rendering of any JSON value for messages: at most about 60 characters.
std::string describe_json(const nlohmann::json& value);

}  // namespace thinpipe
