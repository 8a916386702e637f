// Options that come as a JSON object, with bounds.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "workloads/models/catalogue.h"
#include "workloads/trace/json_fields.h"

namespace thinpipe {

/// Options that are absent or null keep their defaults. Everything throws InputError naming the
/// option, what was found and what was expected.
class OptionReader {
 public:
  static constexpr double kUnbounded = std::numeric_limits<double>::max();

  /// @param whose  stands before every message
  OptionReader(const nlohmann::json& object, const std::string& whose,
               std::initializer_list<std::string_view> names)
      : root_(object, whose) {
    root_.allow_only(names);
  }
  std::optional<JsonField> find(const char* key) const {
    if (!root_.has(key) || root_.at(key).value().is_null()) return std::nullopt;
    return root_.at(key);
  }
  template <typename Integer>
  void integer(const char* key, Integer& value, std::uint64_t least, std::uint64_t most) const {
    if (const auto field = find(key)) {
      value = static_cast<Integer>(field->unsigned_integer(least, most));
    }
  }
  void number(const char* key, double& value, double least, double most) const {
    if (const auto field = find(key)) value = field->number(least, most);
  }
  void string(const char* key, std::string& value) const {
    if (const auto field = find(key)) value = field->string();
  }
  void flag(const char* key, bool& value) const {
    if (const auto field = find(key)) value = field->boolean();
  }

 private:
  JsonField root_;
};

/// @throws InputError when second moments are wanted of a model whose samples have no gradient of
/// their own
inline void check_squares(bool squares, const ModelInfo& model, const std::string& whose) {
  if (!squares || model.training->independent_samples) return;
  std::string able;
  for (const std::string& name : trainable_models()) {
    if (find_model(name).training->independent_samples) able += (able.empty() ? "" : ", ") + name;
  }
  throw InputError(whose + ": squares: a sample of " + model.name +
                   " has no gradient of its own (expected a model without batch normalisation or "
                   "carried state: " +
                   able + ")");
}

}  // namespace thinpipe
