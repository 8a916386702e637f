// Measurements of the links in force, round the ring of ranks: what a message and a byte take
// (alpha and beta), and how much a link carries one way at a time.
#pragma once

#include <cstddef>
#include <vector>

#include "workloads/exchange/transport.h"

namespace thinpipe {

struct RingProbeOptions {
  int small_rounds = 9;   ///< all-reduces of a float a rank
  int large_rounds = 5;   ///< all-gathers of `bytes`
  std::size_t bytes = 0;  ///< of each rank's message in those
  double pause = 2e-3;    ///< s before each: links save up the credit of their buckets
};

/// s that each exchange took on this rank, one after the other.
struct RingProbe {
  std::vector<double> small, large;
};

/// All ranks call it together, with the same options. To the small all-reduces they come up to a
/// millisecond apart, as after a codec, each in turn as the last: those who wait sleep longer and
/// longer between looks (MpiTransport), which is part of what a message takes. The shortest time of
/// all ranks is that of the last to come, which waits for nobody but for 2(n-1) messages one after
/// the other. To the large ones all come together.
RingProbe probe_ring(Transport& transport, const RingProbeOptions& options);

struct StreamOptions {
  double settle = 0.3;   ///< s that are not counted: slow start, and the buckets' saved credit
  double seconds = 1.0;  ///< s of sending after that
};

/// Every rank sends to the next as fast as it goes, and receives from the one before it, in two
/// turns (three where ranks are odd in number), so that no link carries more than one way and the
/// acknowledgements of the other. Segments are as the pipelined rings have them. All ranks of the
/// transport call it together.
/// @returns payload bits a second that this rank received after it had settled; 0 for one rank.
double stream_round_ring(Transport& transport, const StreamOptions& options);

}  // namespace thinpipe
