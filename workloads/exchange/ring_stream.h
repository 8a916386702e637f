// How much a ring of ranks can carry: every rank sends to the next as fast as it goes.
#pragma once

#include "workloads/exchange/transport.h"

namespace thinpipe {

struct StreamOptions {
  double settle = 0.3;   ///< s that are not counted: slow start, and the buckets' saved credit
  double seconds = 1.0;  ///< s of sending after that
};

/// Every rank sends to rank+1 and receives from rank-1 at once, with segments as the pipelined
/// rings have them. All ranks of the transport call it together.
/// @returns payload bits a second that this rank received after it had settled; 0 for one rank.
double stream_round_ring(Transport& transport, const StreamOptions& options);

}  // namespace thinpipe
