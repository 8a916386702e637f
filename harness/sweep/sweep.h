// The sweep: all points, launch after launch, each recorded as soon as it is measured.
#pragma once

#include "harness/sweep/options.h"
#include "harness/sweep/point_work.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Runs what is not in the records yet. Progress goes to stderr.
/// @returns an exit code of base/error.h: good when every point is ok or invalid, failed when one
/// failed, 128 + the signal when interrupted (what was measured stays; --resume goes on).
/// @param options  that passed check_sweep() @param work  what is done at each point; null: the
/// gradients are replayed
/// @throws InputError, RunError before anything is measured.
int run_sweep(const SweepOptions& options, const Trace& trace, PointWork* work = nullptr);

}  // namespace thinpipe
