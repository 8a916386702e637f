// The GPU on which a trace's compute times were taken, and what a codec would take there at best.
#pragma once

#include <optional>
#include <string>

#include "harness/predict/codec_profile.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

struct ComputeDevice {
  std::string name;        ///< "NVIDIA V100-SXM2"
  double memory_rate = 0;  ///< B/s, of its data sheet; 0 where nobody knows it
};

/// Nothing where compute times are a processor's, or where there are none. A GPU's stand in traces
/// that the Python package captured on one (`provenance.device`), and in synthetic ones of models
/// whose times the catalogue estimates for one.
std::optional<ComputeDevice> compute_device(const Trace& trace);

/// The bound that no codec on the device passes: each bucket is read once to encode it and written
/// once with the mean, at the rate of its memory; messages are decoded in no time. Without a known
/// rate a codec takes no time at all.
CodecProfile at_memory_pace(CodecProfile profile, const Trace& trace, const ComputeDevice& device);

}  // namespace thinpipe
