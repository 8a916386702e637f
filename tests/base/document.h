// Documents from JSON literals, and with changes.
#pragma once

#include <nlohmann/json.hpp>
#include <utility>

#include "reports/record/record.h"

namespace thinpipe {

inline Document document(nlohmann::json object) { return Document(std::move(object)); }

template <typename Change>
void change(Document& document, const Change& with) {
  nlohmann::json object = *document;
  with(object);
  document = Document(std::move(object));
}

}  // namespace thinpipe
