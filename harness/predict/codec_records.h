// Codec times and payload sizes from what a run recorded.
#pragma once

#include <string>

#include "harness/device.h"
#include "harness/predict/codec_profile.h"
#include "reports/record/record.h"
#include "workloads/replay/rules.h"
#include "workloads/trace/trace.h"

namespace thinpipe {

/// Of the points of a device with fewest ranks that are not failed: the median processor time of
/// encoding, the median time of decoding, the mean payload; on a GPU the time that encoding took,
/// and of the copies what the network does not hide. How many exchanges a step takes, and in which
/// steps, is the compressor's own; several share the recorded payload and copies evenly.
/// @throws InputError when the records are of another trace, or none of this compressor, and for
/// rules, of whose parts records do not tell
CodecProfile recorded_codec(const Records& records, const Trace& trace,
                            const CompressorRules& compressor,
                            const std::string& device = kDeviceCpu);

/// Whether recorded_codec() finds a point of it.
bool has_codec(const Records& records, const CompressorRules& compressor,
               const std::string& device = kDeviceCpu);

}  // namespace thinpipe
