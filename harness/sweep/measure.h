// Measures one point of the sweep: sets the links, has the ranks take the steps, and makes the
// record (records.cc).
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "base/machine_load.h"
#include "harness/launch/calibration.h"
#include "harness/launch/launch.h"
#include "harness/launch/machines.h"
#include "harness/machine/fingerprint.h"
#include "harness/plan/plan.h"
#include "harness/sweep/samples.h"
#include "harness/sweep/schedule_log.h"
#include "netem/topology/topology.h"
#include "reports/record/record.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Measures the idle fraction of CPU time during steps: of the busiest machine where ranks have
/// machines of their own, else of this machine.
class IdleWatch {
 public:
  explicit IdleWatch(bool own_machines) : own_machines_(own_machines) {}
  void before_step() { before_ = processor_time(); }
  void after_step(const StepAnswers& step);
  /// Returns the idle fraction, or nothing where the steps are too short for the kernel's ticks.
  std::optional<double> idle() const;

 private:
  bool own_machines_;
  ProcessorTime before_;
  std::vector<ProcessorTime> spent_;
};

/// Returns the message that describes a point to ranks before its first step: `prepare` of
/// harness/launch/launch.h. The caller adds the field `trace` where ranks replay a trace.
nlohmann::json prepare_message(const SweepPoint& point, const SweepOptions& options);

/// Sets the goodput of the calibration's direction that is farthest off its ceiling, if any.
void set_goodput(const CalibratedLink* calibrated, PointSamples& samples);

/// Returns the reasons not to trust measurements on the machines' links: no calibration, late
/// changes of the schedule, changes by another program. Ends the schedule.
/// @param calibrated  null if the link was not calibrated
std::vector<std::string> link_warnings(const CalibratedLink* calibrated, Machines& machines,
                                       ScheduleLog& schedule);

/// Returns the s in which every rank of this machine has received and read a message.
double start_seconds(const Launch& launch);

/// Measures points on machines whose links have been calibrated.
class Meter {
 public:
  Meter(Machines& machines, const Trace& trace, const SweepOptions& options,
        const Calibrator& calibrator)
      : machines_(machines), trace_(trace), options_(options), calibrator_(calibrator) {}

  /// Measures the point and returns it with status ok, invalid or failed. Calls `stepped` after
  /// every step. A refusal of the workers (a bad gradient, for instance) gives a failed point.
  /// @throws RunError when the launch is broken and must be restarted.
  Point measure(const SweepPoint& planned, Launch& launch, const std::function<void()>& stepped);

  /// Returns the point's network as it is set: with time dilation, and with the MTU that the
  /// machines' links have.
  Topology network_of(const SweepPoint& point, const Launch& launch) const;
  /// Returns samples without steps, with the properties of the point's links.
  /// @param calibrated  null if the link was not calibrated
  PointSamples no_samples(const SweepPoint& point, const Topology& planned,
                          const CalibratedLink* calibrated, const Launch& launch) const;
  /// Returns the reasons not to trust the point: by its samples, its calibration and its links.
  std::vector<std::string> warnings(const PointSamples& samples, const CalibratedLink* calibrated,
                                    ScheduleLog& schedule) const;

 private:
  Machines& machines_;
  const Trace& trace_;
  const SweepOptions& options_;
  const Calibrator& calibrator_;
};

// Records of a sweep (docs/records.md): the header of a launch, and a record of each point.

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

/// Returns "ok      4 x none on 100 Mbit/s: 87.7 ms a step", followed by the reasons of a point
/// that is not ok.
std::string outcome_line(const SweepPoint& planned, const Point& point);

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
