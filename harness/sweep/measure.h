// One point of the sweep, measured: from setting the links, by the conversation with the ranks, to
// a record.
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

/// Share of the machines' time that their processors idled during steps: of the busiest machine
/// where ranks have machines of their own, else of this one.
class IdleWatch {
 public:
  explicit IdleWatch(bool own_machines) : own_machines_(own_machines) {}
  void before_step() { before_ = processor_time(); }
  void after_step(const StepAnswers& step);
  /// Nothing where the kernel's ticks are too coarse for such short steps.
  std::optional<double> idle() const;

 private:
  bool own_machines_;
  ProcessorTime before_;
  std::vector<ProcessorTime> spent_;
};

/// Message that tells ranks of a point before its first step: the `prepare` of
/// harness/launch/launch.h without a trace to step on.
nlohmann::json prepare_message(const SweepPoint& point, const SweepOptions& options);

/// s in which a message reaches every rank of this machine, and is read.
double start_seconds(const Launch& launch);

/// Measures points on machines whose links have been calibrated.
class Meter {
 public:
  Meter(Machines& machines, const Trace& trace, const SweepOptions& options,
        const Calibrator& calibrator)
      : machines_(machines), trace_(trace), options_(options), calibrator_(calibrator) {}

  /// The point with status ok, invalid or failed. `stepped` is told of every step. A refusal of the
  /// workers (bad gradient, say) is a failed point.
  /// @throws RunError when the launch is broken and must be made anew.
  Point measure(const SweepPoint& planned, Launch& launch, const std::function<void()>& stepped);

  /// Samples without steps: what is known of the point's links before the first.
  /// @param calibrated  null: not
  PointSamples no_samples(const SweepPoint& point, const Topology& planned,
                          const CalibratedLink* calibrated, const Launch& launch) const;
  /// Why its figures should not be trusted: their own reasons, the calibration's and the links'.
  std::vector<std::string> doubts(const PointSamples& samples, const CalibratedLink* calibrated,
                                  ScheduleLog& schedule) const;

 private:
  Machines& machines_;
  const Trace& trace_;
  const SweepOptions& options_;
  const Calibrator& calibrator_;
};

}  // namespace thinpipe
