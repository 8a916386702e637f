// The schedule of a step with several buckets, which shows the overlap of computing, codecs and
// exchanges.
#pragma once

#include <span>

namespace thinpipe {

/// Times of one bucket's tasks, in seconds, each measured without the others.
struct BucketWork {
  double ready = 0;     ///< from the step's begin until its last gradient is ready
  double compress = 0;  ///< encoding
  double exchange = 0;  ///< payloads on the network
  double decode = 0;    ///< decoding the received payloads
  /// The last part of `exchange`, in which the next bucket's exchange may already begin.
  double latency = 0;
};

/// Order of a step's tasks (workloads/replay/bucketing.h).
enum class PipelineKind {
  kSerial,  ///< all buckets are compressed after the backward pass, then exchanged, then decoded
  kInline,  ///< a ready bucket is compressed at once, and the backward pass waits meanwhile
  kBeside,  ///< buckets are compressed and decoded in parallel with the backward pass
};

/// Times of the step, in seconds.
struct PipelineTime {
  double total = 0;
  double compute = 0;    ///< end of the backward pass, including its waits for codecs
  double compress = 0;   ///< sum over buckets
  double exchange = 0;   ///< with an exchange in progress
  double decode = 0;     ///< sum over buckets
  double exposed = 0;    ///< waiting for the network with no other work
  double link_idle = 0;  ///< the total minus the time with an exchange in progress
};

/// Schedules a step. Buckets are sent in the given order, and one exchange is in progress at a
/// time, but for its latency. Received payloads are decoded in the same order, after the backward
/// pass. In kBeside they are also decoded before its end, while no bucket is ready for compression.
/// O(buckets).
/// @param compute  s of the step's computation without its waits; no bucket's gradients are ready
/// later
PipelineTime schedule_step(std::span<const BucketWork> buckets, double compute, PipelineKind kind);

}  // namespace thinpipe
