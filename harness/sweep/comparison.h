// The ranks' accounts of a step: its compression error, and whether its results are right.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "harness/sweep/samples.h"

namespace thinpipe {

/// Adds the ranks' accounts of a step.
/// @param accounts  `accounted` by worker, then by parameter server
void add_accounts(const std::vector<nlohmann::json>& accounts, StepAnswers& step);

/// Adds one checked step: the worst error, whether ranks ended alike, and the kind of reference.
/// @param accounts  `accounted` by worker, then by parameter server
/// @param compared  `compared` by worker, then by parameter server
void add_comparison(std::vector<nlohmann::json> accounts, std::vector<nlohmann::json> compared,
                    int workers, PointSamples& samples);

}  // namespace thinpipe
