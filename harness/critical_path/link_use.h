// Which link exchanges kept busy.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "harness/sweep/wire.h"
#include "netem/topology/topology.h"

namespace thinpipe {

/// A link of the network, and the share of some time for which its fuller direction was sending, by
/// the bytes that it counted and the rate that it has.
struct LinkUse {
  std::string name;  ///< "host3", "rack0-spine"
  double busy = 0;
};

/// bit/s that a link had in one direction, on average; 0 where nothing throttles it.
using RateOf = std::function<double(int link, bool up)>;

/// Of every throttled link, busiest first.
/// @param seconds  in which `count` was counted, exchanges under way
std::vector<LinkUse> link_uses(const WireCount& count, const Topology& topology, const RateOf& rate,
                               double seconds);

/// The rates to which links were set.
RateOf rates_as_set(const Topology& topology);

}  // namespace thinpipe
