// From one line's JSON to a header or a point, with every required field checked.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "reports/record/record.h"

namespace thinpipe {

/// Reads one record. `where` (file and line) opens every message. Throws InputError for a missing
/// or mistyped field, an unknown `record` and an unknown `version`; unknown fields are passed over,
/// so that a later writer may add some.
std::variant<Header, Point> parse_record(const nlohmann::json& record, const std::string& where);

}  // namespace thinpipe
