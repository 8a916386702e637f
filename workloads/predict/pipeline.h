// A step with several buckets: which of its works overlap, by scheduling them one after the other.
#pragma once

#include <span>

namespace thinpipe {

/// One bucket's works, in seconds that each takes by itself.
struct BucketWork {
  double ready = 0;     ///< after the step's begin, when its last gradient is there
  double compress = 0;  ///< encoding it
  double exchange = 0;  ///< its payloads on the network
  double decode = 0;    ///< decoding what came
};

/// Order of a step's work (workloads/replay/feed.h).
enum class PipelineKind {
  kSerial,  ///< all is compressed after the backward pass, then exchanged, then decoded
  kInline,  ///< a bucket is compressed when it is ready, and the backward pass waits for that
  kBeside,  ///< the same beside the backward pass, and what has come is decoded meanwhile
};

/// Times of the step, in seconds.
struct PipelineTime {
  double total = 0;
  double compute = 0;   ///< when the backward pass ended, with what it waited for codecs
  double compress = 0;  ///< sum over buckets, as the next two
  double exchange = 0;  ///< how long the network was busy
  double decode = 0;
  double exposed = 0;    ///< waiting for the network with nothing else to do
  double link_idle = 0;  ///< of the total, without an exchange under way
};

/// Buckets leave in the order given and one exchange is under way at a time. Received payloads are
/// decoded in the same order: after the backward pass, or in kBeside before its end where nothing
/// is ready to be compressed. O(buckets).
/// @param compute  s that the step computes if nothing holds it up; no bucket is ready later
PipelineTime schedule_step(std::span<const BucketWork> buckets, double compute, PipelineKind kind);

}  // namespace thinpipe
