// Measures a link's token-bucket depth: the bytes that the link passes unthrottled after idling.
#pragma once

#include <string>

#include "netem/network.h"
#include "netem/topology/flows.h"

namespace thinpipe {

struct BurstOptions {
  int trains = 5;           ///< measured trains; the median counts
  double most_seconds = 3;  ///< for all trains; at least one is sent
};

struct BurstFigures {
  double depth = 0;  ///< bytes that arrived beyond rate times time, median of the trains
  double low = 0, high = 0;
  double expected = 0;       ///< bytes: bucket_depth() of the frames that were sent
  double frame = 0;          ///< bytes charged for such a frame, including overhead
  std::string not_measured;  ///< the reason, if not measured; then all other members are 0
};

/// Measures a link's token-bucket depth. Sends trains of datagrams with more bytes than the
/// buckets. Before each train, the link idles until its buckets are full. Needs a link with a rate
/// that neither loses nor reorders frames.
/// @throws RunError when a stop was requested.
BurstFigures measure_bucket_depth(const Network& network, const LinkSpec& link, const Flow& flow,
                                  const BurstOptions& options);

}  // namespace thinpipe
