// The ranks' accounts of a step: how much they lost, and whether they ended it with what they
// should.
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
