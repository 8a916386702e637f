// The messages of sparse all-reduces with re-selection, and of qgZ.
#pragma once

#include <optional>

#include "compressors/spec.h"
#include "workloads/exchange/cost/sparse_traffic.h"
#include "workloads/predict/flow_graph.h"

namespace thinpipe {

/// gtopk: what goes up and down the tree, each message with the pairs that its subtree may have at
/// most: min(k, the sum of those it brings), as if no two ranks chose the same place. oktopk:
/// indices and what is selected spread evenly over ranks, `selected` pairs in all; a call that
/// finds neither regions nor a threshold anew. Nothing for other patterns.
/// @throws InputError as check_pattern.
std::optional<FlowGraph> sparse_flows(const Spec& pattern, const SparseSizes& sizes, int ranks);

/// qgz: within groups, between them, and Bruck's all-gather.
/// @throws InputError as check_pattern.
FlowGraph qgz_flows(const Spec& pattern, std::size_t elements, int ranks);

}  // namespace thinpipe
