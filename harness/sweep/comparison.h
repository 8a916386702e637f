// What ranks say of a step afterwards: how much they lost, and what they ended it with, held
// against what they should have.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "harness/sweep/samples.h"

namespace thinpipe {

/// Adds to a step what ranks said in account of it.
/// @param accounts  `accounted` by worker, then by parameter server
void add_accounts(const std::vector<nlohmann::json>& accounts, StepAnswers& step);

/// Adds one checked step: the worst error, whether ranks ended alike, and by what was judged.
/// @param accounts  `accounted` by worker, then by parameter server
/// @param compared  `compared` by worker, then by parameter server
void add_comparison(std::vector<nlohmann::json> accounts, std::vector<nlohmann::json> compared,
                    int workers, PointSamples& samples);

}  // namespace thinpipe
