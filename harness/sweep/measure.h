// One point of the sweep, measured: from setting the links to a record.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "harness/launch/launch.h"
#include "harness/launch/machines.h"
#include "harness/sweep/calibrator.h"
#include "harness/sweep/options.h"
#include "netem/topology/topology.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

class ScheduleLog;
struct PointSamples;

/// Measures points on machines whose links have been calibrated.
class Meter {
 public:
  Meter(Machines& machines, const Trace& trace, const SweepOptions& options,
        const Calibrator& calibrator)
      : machines_(machines), trace_(trace), options_(options), calibrator_(calibrator) {}

  /// A record of the point with status ok, invalid or failed. `stepped` is told of every step.
  /// A refusal of the workers (bad gradient, say) is a failed point.
  /// @throws RunError when the launch is broken and must be made anew.
  nlohmann::json measure(const SweepPoint& point, Launch& launch,
                         const std::function<void()>& stepped);

  /// A failed point's record.
  nlohmann::json failure(const SweepPoint& point, const std::string& reason) const;

  /// What is known of the point's links before its first step. @param calibrated  null: not
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
