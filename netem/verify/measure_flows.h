// Goodput of concurrent TCP flows, and round trips of datagrams: traffic of our own between the
// hosts of an emulated network.
#pragma once

#include <vector>

#include "netem/network.h"
#include "netem/topology/flows.h"
#include "netem/verify/machine_watch.h"

namespace thinpipe {

struct FlowOptions {
  double settle = 0.5;  ///< s before anything is measured: slow start, and the buckets' credit
  double seconds = 1;   ///< measured
  int windows = 1;      ///< it is cut into so many
  bool awake = false;   ///< the machine's processors are kept from sleeping
  bool drain =
      true;  ///< the flows end when all that was sent has arrived; else at once, by a reset
};

struct FlowFigures {
  double goodput = 0;  ///< bit/s of payload that arrived while it was measured
  double payload =
      0;            ///< bytes that arrived in all, from the first to the last; without `drain` some
  double acks = 0;  ///< acknowledgements without data a second that the receiver sent
  std::vector<double> windows;  ///< bit/s in each window
};

struct MeasuredFlows {
  std::vector<FlowFigures> flows;  ///< in the order asked for
  Disturbance machine;
};

/// All flows start and end together. Afterwards nothing is on its way, unless `drain` is off: then
/// what queues hold. From within a sandbox.
/// @throws RunError when a connection cannot be made or breaks, or a stop was asked for.
MeasuredFlows measure_flows(const Network& network, const std::vector<Flow>& flows,
                            const FlowOptions& options);

/// Median round trip of 64-byte datagrams, in s, between two hosts while nothing else is sent.
/// @throws RunError when more than half of them are lost.
double measure_round_trip(const Network& network, const Flow& flow, int count);

}  // namespace thinpipe
