// From one line's JSON to a header or a point. Every error names file, line and field.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "reports/record/record.h"

namespace thinpipe {

/// A JSON object of a record and its location. Every accessor throws InputError
/// `WHERE: field 'axes.rate': expected …, found …`.
class Fields {
 public:
  /// `where` is the file and line, `path` the dotted path of `object` ("" for the record itself).
  Fields(const nlohmann::json& object, std::string where, std::string path = "");

  bool has(const std::string& key) const { return object_.contains(key); }
  const nlohmann::json& json() const { return object_; }
  /// Returns the value of `key`, which must satisfy `is_valid`. `expected` describes valid values.
  const nlohmann::json& value(const std::string& key, std::string_view expected,
                              const std::function<bool(const nlohmann::json&)>& is_valid) const;

  std::string text(const std::string& key) const;
  std::string text_or(const std::string& key, const std::string& fallback) const;
  std::string one_of(const std::string& key, const std::vector<std::string>& allowed) const;
  double number_at_least(const std::string& key, double least) const;
  double positive_number(const std::string& key) const;
  std::int64_t integer(const std::string& key, std::int64_t least, std::int64_t most) const;
  std::uint64_t natural(const std::string& key) const;
  std::vector<std::string> texts(const std::string& key) const;
  std::vector<double> numbers_or_nulls(const std::string& key) const;  ///< null becomes NaN
  Fields object(const std::string& key) const;
  /// Returns the object, or an empty one when the key is absent.
  Document document(const std::string& key) const;

  /// @throws InputError always
  [[noreturn]] void complain(const std::string& key, std::string_view expected) const;

 private:
  const nlohmann::json& object_;
  std::string where_;
  std::string path_;
};

/// Parses one record. Every error message begins with `where` (file and line). `kind` is the kind
/// of the last header before this record; it determines the axes of a point. Unknown fields are
/// ignored, so that later versions may add fields. @throws InputError for a missing or mistyped
/// field, an unknown `record` or `version`
std::variant<Header, Point> parse_record(const nlohmann::json& record, const std::string& where,
                                         const std::string& kind = kRunKind);

}  // namespace thinpipe
