// Records of a sweep, docs/records.md: the header of a launch, and a record for each point.
#pragma once

#include <string>

#include "harness/launch/calibration.h"
#include "harness/launch/launch.h"
#include "harness/launch/machines.h"
#include "harness/plan/plan.h"
#include "harness/sweep/samples.h"
#include "harness/sweep/schedule_log.h"
#include "netem/topology/topology.h"
#include "reports/record/record.h"

namespace thinpipe {

class Trace;

/// The header of a launch. @param launch  null when no ranks could be started
Header header_of(const SweepOptions& options, const Trace& trace, const Machines& machines,
                 const Launch* launch, const Calibrator& calibrator);

/// Adds what the ranks' GPUs are. @throws RunError when a rank does not say
void add_devices(Launch& launch, Header& header);

/// A point before it is measured: its id, its axes, and when it was begun, which is now.
Point describe(const SweepPoint& point, const SweepOptions& options);

/// A point that could not be measured.
Point failed_point(const SweepPoint& point, const SweepOptions& options, const std::string& reason);

/// Links and clocks of a point's measurement.
struct MeasuredOn {
  const Topology& planned;  ///< the network as it was set
  const ScheduleLog& schedule;
  const CalibratedLink* calibrated;  ///< the link; null if it was not
  bool one_clock;  ///< of all ranks; else each rank's times count from its own step's begin
};

Fidelity fidelity_of(const PointSamples& samples, const SweepPoint& point, const MeasuredOn& on);

/// Adds what was measured.
/// @param dense_bytes  of one rank's uncompressed gradient
void add_measured(const PointSamples& samples, const SweepPoint& planned, const MeasuredOn& on,
                  std::size_t dense_bytes, Point& point);

}  // namespace thinpipe
