// What was just measured, as a report reads it from a file.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "reports/record/record.h"

namespace thinpipe {

/// @param header, points  of docs/records.md, as they are appended to a file
Records measured_records(const nlohmann::json& header, const std::vector<nlohmann::json>& points);

}  // namespace thinpipe
