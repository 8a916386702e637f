// Measures one point of the sweep: sets the links, has the ranks take the steps, and makes the
// record.
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
#include "harness/plan/plan.h"
#include "harness/sweep/samples.h"
#include "harness/sweep/schedule_log.h"
#include "netem/topology/topology.h"
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

/// Returns the message that describes a point to ranks before its first step: the `prepare` of
/// harness/launch/launch.h without its trace.
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

}  // namespace thinpipe
