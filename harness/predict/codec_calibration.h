// Measures a compressor on a trace right here, without a network: the replay's own code on a core
// or several at once, exchanging with itself.
#pragma once

#include "harness/plan/plan.h"
#include "harness/predict/codec_profile.h"
#include "workloads/replay/feed.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

struct CodecCalibration {
  Feed feed;  ///< how gradients go to the compressor
  /// By which payloads meet: whether they are summed and gathered, summed as pairs, or pushed.
  Spec pattern = {.name = "ring", .values = {}};
  int ranks = 1;         ///< whose payloads are looked at
  int at_once = 1;       ///< that encode and decode at once, as many as share caches and memory
  double seconds = 0.5;  ///< no further step after so many
  int fewest_steps = 3;  ///< measured ones in which something is sent; one more comes first
  int most_steps = 8;
  int first_step = 1;  ///< that counts; the first one of all touches memory for the first time
};

/// Uses the sweep's settings that decide on a step (seed, threads, non-finite values).
/// @throws InputError for a spec or a trace that do not fit.
CodecProfile measure_codec(const Trace& trace, const CompressorRules& compressor,
                           const SweepOptions& options, const CodecCalibration& calibration = {});

}  // namespace thinpipe
