// The messages of workers and parameter servers.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "workloads/predict/flow_graph.h"

namespace thinpipe {

/// A unit as parameter servers exchange it. Sizes are of payloads, without their heads.
struct FlowUnit {
  int server = 0;
  double push = 0, pull = 0;  ///< bytes
  double decode = 0;          ///< s of a server for each worker's payload
  double compress = 0;        ///< s of a server for the answer
};

/// Workers are ranks 0 to workers - 1, servers come after them; with no servers every worker is
/// one, and what it has of its own does not cross the network. A worker pushes its units in order;
/// a server answers each when all workers' payloads of it have come and been decoded, in the same
/// order, by one processor. What the answer's encoding takes is spread over the payloads.
/// Payloads are cut so that there are about `most_messages` of them at most.
FlowGraph push_pull_flows(std::span<const FlowUnit> units, int workers, int servers,
                          double most_messages);

}  // namespace thinpipe
