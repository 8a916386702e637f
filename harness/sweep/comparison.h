// What ranks ended a checked step with, held against what they should have.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "harness/sweep/samples.h"

namespace thinpipe {

/// Adds one checked step: the worst error, whether ranks ended alike, and by what was judged.
/// @param accounts  `accounted` by worker
/// @param compared  `compared` by worker, then by parameter server
void add_comparison(const std::vector<nlohmann::json>& accounts,
                    std::vector<nlohmann::json> compared, int workers, PointSamples& samples);

}  // namespace thinpipe
