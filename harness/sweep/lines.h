// What a sweep tells people while it runs, a line each.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/sweep/options.h"

namespace thinpipe {

/// "100 Mbit/s", or the whole of it where there is more to say.
std::string link_line(const LinkSpec& link);

/// "ok      4 x none on 100 Mbit/s: 87.7 ms a step", with the reasons if it is not.
std::string outcome_line(const SweepPoint& point, const nlohmann::json& record);

}  // namespace thinpipe
