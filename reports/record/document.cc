#include "reports/record/document.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

namespace thinpipe {

Document::Document() {
  static const auto kEmpty = std::make_shared<const nlohmann::json>(nlohmann::json::object());
  json_ = kEmpty;
}

Document::Document(nlohmann::json object)
    : json_(std::make_shared<const nlohmann::json>(std::move(object))) {}

bool Document::empty() const { return json_->empty(); }

std::optional<double> Document::number(const std::string& name) const {
  const auto found = json_->find(name);
  if (found == json_->end() || !found->is_number()) return std::nullopt;
  const double value = found->get<double>();
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

std::string Document::text(const std::string& name) const {
  const auto found = json_->find(name);
  return found != json_->end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace thinpipe
