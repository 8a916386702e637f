// The sweep: all points, launch after launch, each recorded as soon as it is measured; and the work
// that is done at each where that is not to replay a trace.
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

/// How far a point is, for the person who waits.
struct PointProgress {
  std::function<void(double)> advance;  ///< by so many of the seconds that were expected
  std::function<void(const std::string&)> describe;
};

/// Work of a session at its points other than replaying a trace. The links of a point have been
/// calibrated and its ranks started when it is their turn.
class PointWork {
 public:
  virtual ~PointWork() = default;

  /// The ranks' program.
  virtual const char* program() const = 0;
  /// As settings_of(), with those of the work.
  virtual nlohmann::json settings() const = 0;
  /// Makes a run's header one of this work.
  virtual void complete_header(Header& header) const = 0;
  /// Adds to the axes of a point, be it measured or failed.
  virtual void complete_axes(const SweepPoint& planned, Axes& axes) const = 0;
  /// s, roughly.
  virtual double expected_seconds(const SweepPoint& point) const = 0;
  /// The point with status ok, invalid or failed.
  /// @throws RunError when the launch is broken and must be made anew, or a stop was asked for
  virtual Point measure(const SweepPoint& planned, Machines& machines, Launch& launch,
                        const Calibrator& calibrator, const PointProgress& progress) = 0;
  /// The line that people read when the point has ended.
  virtual std::string outcome(const SweepPoint& planned, const Point& point) const = 0;
};

/// Runs what is not in the records yet. Progress goes to stderr.
/// @returns an exit code of base/error.h: good when every point is ok or invalid, failed when one
/// failed, 128 + the signal when interrupted (what was measured stays; --resume goes on).
/// @param options  that passed check_sweep() @param work  what is done at each point; null: the
/// gradients are replayed
/// @throws InputError, RunError before anything is measured.
int run_sweep(const SweepOptions& options, const Trace& trace, PointWork* work = nullptr);

}  // namespace thinpipe
