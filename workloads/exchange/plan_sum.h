// The all-reduce of a plan carried out by one rank, plainly: what the network must bring.
#pragma once

#include <span>

#include "compressors/element_type.h"
#include "workloads/exchange/all_reduce_plan.h"

namespace thinpipe {

/// out = factor * the sum of the arrays, by rank, added in the order that the plan has and rounded
/// after every addition as the elements' type is. 16-bit elements are given and returned as floats.
/// Nothing but NaN may differ from what AllReduceFlow ends with.
void sum_by_plan(const AllReducePlanner& planner, ElementType type,
                 std::span<const std::span<const float>> arrays, float factor,
                 std::span<float> out);

}  // namespace thinpipe
