// A member of a record that stays as it was written: a JSON object.
#pragma once

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace thinpipe {

/// A JSON object that cannot be changed; all copies share it. It converts to a JSON value for
/// reading. Code that uses more than number() and text() must include nlohmann/json.hpp.
class Document {
 public:
  Document();  ///< an empty object
  explicit Document(nlohmann::json object);

  operator const nlohmann::json&() const { return *json_; }  // NOLINT(google-explicit-constructor)
  const nlohmann::json& operator*() const { return *json_; }
  const nlohmann::json* operator->() const { return json_.get(); }
  bool empty() const;
  /// Returns a member that is a finite number; nothing when it is absent or of another type.
  std::optional<double> number(const std::string& name) const;
  /// Returns a member that is a string; "" when it is absent or of another type.
  std::string text(const std::string& name) const;

 private:
  std::shared_ptr<const nlohmann::json> json_;
};

}  // namespace thinpipe
