// What parameter servers answered, whose ranks come after the workers'.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "harness/sweep/samples.h"

namespace thinpipe {

/// Takes what comes after the workers' part off the answers: the servers'.
std::vector<nlohmann::json> cut_off(std::vector<nlohmann::json>& answers, int workers);

/// Adds one step of the servers.
/// @param answers   `stepped` by server, times as the clock had them
/// @param accounts  `accounted` by server
void add_servers(std::vector<nlohmann::json> answers, const std::vector<nlohmann::json>& accounts,
                 double time_scale, PointSamples& samples);

}  // namespace thinpipe
