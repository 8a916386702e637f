// Measures a compressor on a trace in this process, without a network. Runs the replay's own code
// on one or several cores, with a collective that returns every payload to its sender.
#pragma once

#include "harness/plan/plan.h"
#include "harness/predict/codec_profile.h"
#include "workloads/replay/bucketing.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

struct CodecCalibration {
  Bucketing bucketing;
  /// Decides the operation on payloads: all-reduce and all-gather, sums of pairs, or push and pull.
  Spec collective = {.name = "ring", .values = {}};
  int ranks = 1;         ///< number of ranks whose payloads are measured
  int at_once = 1;       ///< ranks that run at the same time and share caches and memory
  double seconds = 0.5;  ///< no further step begins after this time
  int fewest_steps = 3;  ///< measured steps with an exchange, at least; one more comes first
  int most_steps = 8;
  int first_step = 1;  ///< first measured step; step 0 touches memory for the first time
};

/// Measures a compressor with the sweep's settings of a step (seed, threads, non-finite values).
/// @throws InputError for a spec or a trace that do not fit.
CodecProfile measure_codec(const Trace& trace, const CompressorRules& compressor,
                           const SweepOptions& options, const CodecCalibration& calibration = {});

}  // namespace thinpipe
