// Bytes that a link lets through for free after idling: the bucket that filled meanwhile.
#pragma once

#include <string>

#include "netem/network.h"
#include "netem/topology/flows.h"

namespace thinpipe {

struct BurstOptions {
  int trains = 5;           ///< measured; the median counts
  double most_seconds = 3;  ///< for all of them; at least one is sent
};

struct BurstFigures {
  double credit = 0;  ///< bytes that arrived beyond rate times time, median of the trains
  double low = 0, high = 0;
  double expected = 0;       ///< bytes: burst_credit() of the frames that were sent
  double frame = 0;          ///< bytes of such a frame, with what the link charges beyond it
  std::string not_measured;  ///< why not; then all else is 0
};

/// The link idles until its buckets are full, then a train of datagrams comes at once, longer than
/// the buckets. Needs a link with a rate whose frames neither get lost nor change their order.
/// @throws RunError when a stop was asked for.
BurstFigures measure_burst_credit(const Network& network, const LinkSpec& link, const Flow& flow,
                                  const BurstOptions& options);

}  // namespace thinpipe
