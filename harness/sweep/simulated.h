// Points of a sweep that SimGrid simulates instead of emulated hosts (`run --engine simgrid`).
#pragma once

#include <vector>

#include "harness/plan/plan.h"
#include "harness/predict/predictor.h"
#include "harness/simulate/job.h"
#include "reports/record/record.h"
#include "reports/record/writer.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Returns the job of a point: its network, its buckets with codec times and payload sizes, and the
/// ranks' compute times. Equal steps are there once.
/// @param message_time  in s, of a rank that shares no core
/// @param step_of  set to the job's step of each measured step
SimulationJob simulation_job(const SweepPoint& point, const SweepOptions& options,
                             const Trace& trace, Predictor& predictor, double message_time,
                             std::vector<std::size_t>& step_of);

/// Returns the point with the metrics of the simulated steps.
/// @param message_time  of the job, for the record @param step_of  as simulation_job()
Point simulated_point(const SweepPoint& point, const SweepOptions& options, const Trace& trace,
                      const CodecProfile& codec, double message_time,
                      const SimulationAnswer& answer, const std::vector<std::size_t>& step_of);

/// Simulates the points and records each. Progress goes to stderr.
/// @returns as run_sweep() does
int simulate_points(const SweepOptions& options, const Trace& trace,
                    const std::vector<SweepPoint>& points, RecordWriter& writer);

}  // namespace thinpipe
