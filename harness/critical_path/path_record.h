// The critical paths of a point's steps, as its record tells them.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <vector>

#include "harness/critical_path/critical_path.h"
#include "harness/critical_path/link_use.h"

namespace thinpipe {

/// A step's `stepped` answers, by rank, as critical_path() takes them.
/// @param one_clock  of all ranks
std::vector<StepTimeline> timelines_of(const std::vector<nlohmann::json>& ranks, bool one_clock);

/// What servers, whose hosts come after those of so many workers, said of a step. Empty where ranks
/// have no clock in common.
std::vector<ServedExchange> served_by(const std::vector<nlohmann::json>& servers, int workers,
                                      bool one_clock);

/// s for which exchanges were under way in these steps, on the rank of each that waited least.
double exchange_seconds(std::span<const std::vector<StepTimeline>> steps);

/// The `critical_path` of docs/records.md.
/// @param paths       of every measured step
/// @param uses        busiest first
/// @param time_scale  by which seconds are divided
nlohmann::json path_record(std::span<const StepPath> paths, std::span<const LinkUse> uses,
                           double time_scale);

/// The host whose payloads were longest, and how many times as long as the others' (their median);
/// null where none was longer, or none but that sent anything.
/// @param steps  every measured step's `stepped` answers, by rank
nlohmann::json longest_payload(std::span<const std::vector<nlohmann::json>> steps);

}  // namespace thinpipe
