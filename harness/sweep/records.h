// Records of a sweep, docs/records.md: the header of a launch, and a record for each point.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/launch/calibration.h"
#include "harness/launch/launch.h"
#include "harness/launch/machines.h"
#include "harness/plan/plan.h"
#include "harness/sweep/samples.h"
#include "harness/sweep/schedule_log.h"
#include "netem/topology/topology.h"

namespace thinpipe {

class Trace;

/// The first record of a launch. @param launch  null when no ranks could be started
nlohmann::json header_of(const SweepOptions& options, const Trace& trace, const Machines& machines,
                         const Launch* launch, const Calibrator& calibrator);

/// Adds what the ranks' GPUs are. @throws RunError when a rank does not say
void add_devices(Launch& launch, nlohmann::json& header);

/// The beginning of every point's record: its id, its axes, and when it was begun, which is now.
nlohmann::json describe(const SweepPoint& point, const SweepOptions& options);

/// The record of a point that could not be measured.
nlohmann::json failed_point(const SweepPoint& point, const SweepOptions& options,
                            const std::string& reason);

/// What a point was measured on.
struct MeasuredOn {
  const Topology& planned;  ///< the network as it was set
  const ScheduleLog& schedule;
  const CalibratedLink* calibrated;  ///< the link; null if it was not
  bool one_clock;  ///< of all ranks; else each rank's times count from its own step's begin
};

/// The `fidelity` of docs/records.md.
nlohmann::json fidelity_of(const PointSamples& samples, const SweepPoint& point,
                           const MeasuredOn& on);

/// Adds what was measured to a point's record.
/// @param dense_bytes  of one rank's uncompressed gradient
void add_measured(const PointSamples& samples, const SweepPoint& point, const MeasuredOn& on,
                  std::size_t dense_bytes, nlohmann::json& record);

}  // namespace thinpipe
