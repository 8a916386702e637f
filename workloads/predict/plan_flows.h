// The messages of an exchange from the plans of its ranks (workloads/exchange).
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "workloads/exchange/all_gather_flow.h"
#include "workloads/exchange/all_reduce_plan.h"
#include "workloads/predict/flow_graph.h"

namespace thinpipe {

/// As AllReduceFlow carries them out for arrays of so many floats, segment by segment.
FlowGraph reduce_flows(const std::vector<AllReducePlan>& plans, std::size_t elements);

/// As AllGatherFlow does for messages of so many bytes by rank; before each goes its length.
FlowGraph gather_flows(const std::vector<AllGatherPlan>& plans, std::span<const std::size_t> sizes);

}  // namespace thinpipe
