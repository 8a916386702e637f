// Measures the links as they are currently set, between neighbours in the ring of ranks: the time
// of a message and of a byte (alpha and beta), and a link's goodput in one direction at a time.
#pragma once

#include <cstddef>
#include <vector>

#include "workloads/collectives/transport.h"

namespace thinpipe {

struct RingProbeOptions {
  int small_rounds = 9;   ///< all-reduces of a float a rank
  int large_rounds = 5;   ///< all-gathers of `bytes`
  std::size_t bytes = 0;  ///< of each rank's message in an all-gather
  double pause = 2e-3;    ///< s before each exchange, while the links' token buckets fill
};

/// Durations of the exchanges on this rank, in s and in order.
struct RingProbe {
  std::vector<double> small, large;
};

/// Times small all-reduces and large all-gathers. All ranks call it together, with the same
/// options. Ranks begin a small all-reduce up to a millisecond apart, as they would after a codec,
/// and take turns at being the last to begin. A rank that waits sleeps for longer and longer
/// between polls (MpiTransport). These sleeps are part of a message's time. The shortest time over
/// all ranks is that of the last rank to begin, which waits only for 2(n-1) messages one after the
/// other. All ranks begin a large all-gather together.
RingProbe probe_ring(Transport& transport, const RingProbeOptions& options);

struct StreamOptions {
  double settle = 0.3;   ///< s that are not counted: slow start, and initially full token buckets
  double seconds = 1.0;  ///< s of sending after `settle`
};

/// Sends to the next rank as fast as possible, and receives from the previous rank. Ranks send in
/// two turns (three for an odd number of ranks), so that a link carries data in one direction only,
/// and acknowledgements in the other. Segments are those of the pipelined rings. All ranks of the
/// transport call it together.
/// @returns payload bits a second that this rank received after `settle`; 0 for one rank
double stream_round_ring(Transport& transport, const StreamOptions& options);

}  // namespace thinpipe
