// Records of a sweep (docs/records.md): the header of a launch, and a record of each point.
#pragma once

#include <string>

#include "harness/launch/calibration.h"
#include "harness/launch/launch.h"
#include "harness/launch/machines.h"
#include "harness/machine/fingerprint.h"
#include "harness/plan/plan.h"
#include "harness/sweep/samples.h"
#include "harness/sweep/schedule_log.h"
#include "netem/topology/topology.h"
#include "reports/record/record.h"

namespace thinpipe {

class Trace;

/// Returns the header of a launch, with the state of its network.
/// @param trace  null without one @param launch  null when no ranks of thinpipe's were started
Header network_header(const Launched& launched, const Trace* trace, const Machines& machines,
                      const Launch* launch, const Calibrator& calibrator);

/// Adds the ranks' GPUs. @throws RunError when a rank does not report its GPU
void add_devices(Launch& launch, Header& header);

/// Returns a point before its measurement: its id, its axes, and now as its begin.
Point describe(const SweepPoint& point, const SweepOptions& options);

/// Returns a point that could not be measured.
Point failed_point(const SweepPoint& point, const SweepOptions& options, const std::string& reason);

/// Links and clocks of a point's measurement.
struct MeasuredOn {
  const Topology& planned;  ///< the network as it was set
  const ScheduleLog& schedule;
  const CalibratedLink* calibrated;  ///< null if the link was not calibrated
  bool one_clock;  ///< all ranks share a clock; else each rank's times count from its step's begin
};

/// Returns the `fidelity` of docs/records.md; of samples without steps, without figures of a step.
Fidelity fidelity_of(const PointSamples& samples, const SweepPoint& point, const MeasuredOn& on);

/// Marks a point that was measured while another run used the machine. The other run's cost cannot
/// be separated from the speed of links and ranks. The point becomes invalid unless `tolerated`.
void mark_shared(bool tolerated, Point& point);

/// Adds the metrics and details of a measured point.
/// @param dense_bytes  of one rank's uncompressed gradient
void add_measured(const PointSamples& samples, const SweepPoint& planned, const MeasuredOn& on,
                  std::size_t dense_bytes, Point& point);

}  // namespace thinpipe
