// What workers and parameter servers send and receive in one step, in closed form.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/exchange/cost/traffic.h"
#include "workloads/exchange/exchange_units.h"

namespace thinpipe {

/// Messages that follow each other: a push and the answer to it.
inline constexpr int kPushPullSteps = 2;

/// Of every rank, workers first, where all units take part.
/// @param push  bytes of payloads: push[worker][unit]
/// @param pull  bytes of each unit's answer, of which every worker gets one
std::vector<Traffic> push_pull_traffic(const PushPullLayout& layout,
                                       std::span<const std::vector<std::size_t>> push,
                                       std::span<const std::size_t> pull);

}  // namespace thinpipe
