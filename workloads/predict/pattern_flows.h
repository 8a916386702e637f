// The messages of an exchange by a pattern, by its name.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "compressors/spec.h"
#include "workloads/predict/flow_graph.h"

namespace thinpipe {

/// Of an all-reduce of so many floats; nothing where the pattern is no plan (openmpi) or has no
/// all-reduce of its own. @throws InputError as check_pattern.
std::optional<FlowGraph> all_reduce_flows(const Spec& pattern, std::size_t elements, int ranks);

/// Likewise of an all-gather of messages of so many bytes by rank.
std::optional<FlowGraph> all_gather_flows(const Spec& pattern, std::span<const std::size_t> sizes);

/// Messages that an all-reduce has where no part is longer than a segment: at least so many there
/// are. 0 where there are no flows.
double least_messages(const Spec& pattern, int ranks);

}  // namespace thinpipe
