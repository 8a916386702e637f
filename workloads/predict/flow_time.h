// How long an exchange takes on a star, by letting its messages cross one after the other.
#pragma once

#include <span>

#include "workloads/predict/flow_graph.h"
#include "workloads/predict/link_figures.h"

namespace thinpipe {

/// What an exchange came to.
struct FlowTime {
  double seconds = 0;  ///< until the last message is counted
  double bytes = 0;    ///< one way over the busiest port
  /// That waited before a receiver's port at some moment, at most: more than its queue holds is
  /// dropped.
  double waiting = 0;
};

/// Every rank has a port that lets through what it sends and one for what it receives, at the same
/// time, each a token bucket that has idled before: a byte takes beta, and `credit` bytes at once.
/// The queues of a rank take turns at its port, a message each, as a segment is handed down to the
/// qdisc as one packet; pieces of several senders come to a port in the order in which they left,
/// and wait there. alpha passes
/// between a message's last byte and its being counted.
/// @param ports    of each rank; or one, of all. Of a message alpha is the sender's
/// @param quantum  bytes of a piece, at least; messages are cut evenly
/// @throws std::logic_error where messages wait for each other in a circle
FlowTime flow_time(const FlowGraph& graph, std::span<const LinkFigures> ports, double quantum);

}  // namespace thinpipe
