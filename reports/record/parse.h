// From one line's JSON to a header or a point, with every required field checked.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <variant>

#include "reports/record/record.h"

namespace thinpipe {

/// Reads one record. `where` (file and line) opens every message, `kind` is that of the header
/// before it: the axes of points other than a run's are not looked into. Throws InputError for a
/// missing or mistyped field, an unknown `record` and an unknown `version`; unknown fields are
/// passed over, so that a later writer may add some.
std::variant<Header, Point> parse_record(const nlohmann::json& record, const std::string& where,
                                         const std::string& kind = kRunKind);

}  // namespace thinpipe
