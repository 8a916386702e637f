// Strict reading of JSON from users: every wrong field is an InputError naming file and path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "base/error.h"
#include "workloads/trace/mapped_file.h"

namespace thinpipe {

/// Parses one JSON text, more strictly than RFC 8259. A name that appears twice in one object is an
/// error, because readers differ in which value counts. Nesting deeper than 64 is an error, because
/// some readers refuse it.
/// @param file names the source in messages.
/// @throws InputError
nlohmann::json parse_json_strictly(std::string_view text, const std::string& file);

/// Parses the text of a mapped file in the same way. @throws InputError also if it is too long.
nlohmann::json parse_json_file(const MappedFile& mapped, const std::string& file,
                               std::size_t max_bytes);

/// One JSON value with its file and its path in the file, e.g. "trace.json" and
/// "steps[3].workers[0].ready". Every accessor throws InputError
/// "<file>: <path>: expected ..., found ...". The value must outlive the field.
class JsonField {
 public:
  JsonField(const nlohmann::json& value, std::string file, std::string place = "");

  const nlohmann::json& value() const { return *value_; }
  const std::string& place() const { return place_; }

  JsonField at(std::string_view key) const;  ///< required member of an object
  bool has(std::string_view key) const;      ///< false also if this is not an object
  JsonField at(std::size_t index) const;     ///< element of an array; index < size()
  std::size_t size() const;                  ///< length of an array

  std::string string() const;  ///< any string
  bool boolean() const;
  std::uint64_t unsigned_integer(std::uint64_t at_least = 0,
                                 std::uint64_t at_most = UINT64_MAX) const;
  double number(double at_least, double at_most) const;  ///< finite and within the bounds
  /// A tensor's shape: an array of integers of 63 bits.
  std::vector<std::int64_t> shape(std::uint64_t at_least) const;

  /// Throws InputError for a member other than these. The message suggests the nearest name.
  void allow_only(const std::vector<std::string>& keys) const;

  /// Throws InputError "<file>: <path>: <what>".
  [[noreturn]] void fail(const std::string& what) const;

 private:
  const nlohmann::json* value_;
  std::string file_;
  std::string place_;
};

/// Returns visible_line() of the first 48 bytes, for messages that quote text from users.
std::string printable(std::string_view text);

/// Returns a short form of any JSON value for messages: at most about 60 characters.
std::string describe_json(const nlohmann::json& value);

}  // namespace thinpipe
