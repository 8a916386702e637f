// Runs a sweep: all points, launch after launch. Each point is recorded as soon as it is measured.
// PointWork is the interface of sweeps that do other work at each point than replaying a trace.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "harness/plan/plan.h"
#include "reports/record/record.h"

namespace thinpipe {

class Calibrator;
class Launch;
class Machines;
class Trace;

/// Shows how far a point is.
struct PointProgress {
  std::function<void(double)> advance;  ///< by a number of the expected seconds
  std::function<void(const std::string&)> describe;
  std::function<bool()> shared;  ///< whether another run was measured since the point began
};

/// Work that a session does at each point instead of replaying a trace. The session calibrates a
/// point's links and starts its ranks before it calls measure().
class PointWork {
 public:
  virtual ~PointWork() = default;

  /// Returns the name of the ranks' program.
  virtual const char* program() const = 0;
  /// Returns settings_of() with the settings of this work added.
  virtual nlohmann::json settings() const = 0;
  /// Adds the fields of this work to a run's header.
  virtual void complete_header(Header& header) const = 0;
  /// Adds the axes of this work to a point, measured or failed.
  virtual void complete_axes(const SweepPoint& planned, Axes& axes) const = 0;
  /// Returns about how many s the point takes.
  virtual double expected_seconds(const SweepPoint& point) const = 0;
  /// Measures the point and returns it with status ok, invalid or failed.
  /// @throws RunError when the launch is broken and must be restarted, or a stop was requested
  virtual Point measure(const SweepPoint& planned, Machines& machines, Launch& launch,
                        const Calibrator& calibrator, const PointProgress& progress) = 0;
  /// The point's record is written, and a resumed run will not measure the point again.
  virtual void recorded(const SweepPoint& /*planned*/) {}
  /// Returns the progress line for a point that has ended.
  virtual std::string outcome(const SweepPoint& planned, const Point& point) const = 0;
};

/// Measures all points that are not in the records yet. Progress goes to stderr.
/// @returns an exit code of base/error.h: good when every point is ok or invalid, failed when one
/// failed, 128 + the signal when interrupted (recorded points stay; --resume continues).
/// @param options  after check_sweep() @param work  work at each point; null: the trace is replayed
/// @throws InputError, RunError before anything is measured.
int run_sweep(const SweepOptions& options, const Trace& trace, PointWork* work = nullptr);

}  // namespace thinpipe
