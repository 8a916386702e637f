// How long a point's steps may take before they count as stuck.
#pragma once

#include "harness/sweep/options.h"
#include "netem/topology/topology.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Bits of all ranks' uncompressed gradients in one step.
double dense_bits(const SweepPoint& point, const Trace& trace);

/// Ten times what a dense exchange takes on these links, and `more` for a machine in trouble, in s.
double step_patience(const SweepPoint& point, const Topology& topology, const Trace& trace,
                     double compute_scale, double more);

}  // namespace thinpipe
