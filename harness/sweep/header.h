// The first record of a launch.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "harness/launch/launch.h"
#include "harness/launch/machines.h"
#include "harness/sweep/calibrator.h"
#include "harness/sweep/options.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// The header of docs/records.md. @param launch  null when no ranks could be started
nlohmann::json header_of(const SweepOptions& options, const Trace& trace, const Machines& machines,
                         const Launch* launch, const Calibrator& calibrator);

/// Adds what the ranks' GPUs are. @throws RunError when a rank does not say
void add_devices(Launch& launch, nlohmann::json& header);

}  // namespace thinpipe
