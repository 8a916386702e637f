// The simulated network of a sweep's point: the links of --link and --topology, each with the rate
// that TCP reaches on it.
#pragma once

#include "netem/topology/spec.h"
#include "workloads/simulate/work.h"

namespace thinpipe {

/// Returns the network. A link's rate is TCP's ceiling with acknowledgements, as in
/// network_model.h.
/// @throws InputError as TopologySpec::plan()
SimulatedNetwork simulated_network(const TopologySpec& topology, const LinkSpec& link, int hosts,
                                   double message_time);

}  // namespace thinpipe
