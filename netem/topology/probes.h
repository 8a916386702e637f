// Which traffic shows what a link delivers.
#pragma once

#include <vector>

#include "netem/topology/flows.h"

namespace thinpipe {

/// One direction of a link, and flows that together should fill it.
struct LinkProbe {
  Hop hop;
  std::vector<Flow> flows;  ///< between different hosts where there are enough
  double goodput = 0;       ///< bit/s of payload that TCP can deliver at most over all flows
  bool fills = false;       ///< the hosts can send so much that this link is what limits them
};

/// A probe for every setting that some link has: of the first host and the first trunk with it, up
/// and, where that differs, down. Links without a rate and paths that lose or reorder frames have
/// no goodput to hold against and are left out.
/// @param each_way  down also where it is set as up is
std::vector<LinkProbe> link_probes(const Topology& topology, bool each_way = false);

}  // namespace thinpipe
