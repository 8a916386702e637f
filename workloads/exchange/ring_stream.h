// How much the links of a ring of ranks can carry, one way at a time.
#pragma once

#include "workloads/exchange/transport.h"

namespace thinpipe {

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
