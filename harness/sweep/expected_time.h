// How long points will take, roughly: for the progress bar.
#pragma once

#include "harness/sweep/options.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Seconds, with the start of the point.
double expected_seconds(const SweepPoint& point, const Trace& trace, const SweepOptions& options);

}  // namespace thinpipe
