// Where the drawing puts everything.
#pragma once

#include <vector>

#include "netem/topology/topology.h"

namespace thinpipe {

/// In pixels; x to the right, y down.
struct Spot {
  double x = 0, y = 0;
};

/// By index of host and switch; the middle of the hosts' circle is at 0,0.
struct Layout {
  std::vector<Spot> hosts, switches;
};

inline constexpr double kSwitchHeight = 30;

Layout lay_out(const Topology& topology);

}  // namespace thinpipe
