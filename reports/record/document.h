// A part of a record that is kept as it was written: a JSON object.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace thinpipe {

/// Stands wherever a JSON value is read. Copies share what they hold, which nobody changes. Code
/// that looks deeper than number() and text() must include nlohmann/json.hpp.
class Document {
 public:
  Document();  ///< an empty object
  explicit Document(nlohmann::json object);

  operator const nlohmann::json&() const { return *json_; }  // NOLINT(google-explicit-constructor)
  const nlohmann::json& operator*() const { return *json_; }
  const nlohmann::json* operator->() const { return json_.get(); }
  bool empty() const;
  /// A member that is a finite number; nothing when it is absent or something else.
  std::optional<double> number(const std::string& name) const;
  /// A member that is a string; "" when it is absent or something else.
  std::string text(const std::string& name) const;

 private:
  std::shared_ptr<const nlohmann::json> json_;
};

}  // namespace thinpipe
