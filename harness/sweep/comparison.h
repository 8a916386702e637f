// A step's answers of parameter servers, and what ranks ended a checked step with, held against
// what they should have.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "harness/sweep/samples.h"

namespace thinpipe {

/// Takes the servers' part off the answers: their ranks come after the workers'.
std::vector<nlohmann::json> cut_off(std::vector<nlohmann::json>& answers, int workers);

/// Adds one step of the servers.
/// @param answers   `stepped` by server, times as the clock had them
/// @param accounts  `accounted` by server
void add_servers(std::vector<nlohmann::json> answers, const std::vector<nlohmann::json>& accounts,
                 double time_scale, PointSamples& samples);

/// Adds one checked step: the worst error, whether ranks ended alike, and by what was judged.
/// @param accounts  `accounted` by worker
/// @param compared  `compared` by worker, then by parameter server
void add_comparison(const std::vector<nlohmann::json>& accounts,
                    std::vector<nlohmann::json> compared, int workers, PointSamples& samples);

}  // namespace thinpipe
