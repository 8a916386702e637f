// What the steps of a point waited for, and which of its links they kept busiest.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/sweep/options.h"
#include "harness/sweep/samples.h"
#include "harness/sweep/schedule_log.h"
#include "netem/topology/topology.h"

namespace thinpipe {

/// The `critical_path` of docs/records.md.
/// @param planned    the network as it was set
/// @param one_clock  of all ranks; else each rank's times count from its own step's begin
nlohmann::json paths_of(const PointSamples& samples, const SweepPoint& point,
                        const ScheduleLog& schedule, const Topology& planned, bool one_clock);

}  // namespace thinpipe
