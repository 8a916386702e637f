// Measures the goodput of concurrent TCP flows, and round trips of datagrams, between the hosts of
// an emulated network.
#pragma once

#include <vector>

#include "netem/network.h"
#include "netem/topology/flows.h"
#include "netem/verify/machine_watch.h"

namespace thinpipe {

struct FlowOptions {
  double settle = 0.5;  ///< s before the measurement: slow start, and the buckets' initial tokens
  double seconds = 1;   ///< of the measurement
  int windows = 1;      ///< number of windows of the measurement
  bool awake = false;   ///< keeps the machine's CPUs from idle states
  bool drain = true;    ///< ends the flows when all data has arrived, rather than by a reset
};

struct FlowFigures {
  double goodput = 0;           ///< bit/s of payload that arrived during the measurement
  double payload = 0;           ///< bytes of payload that arrived in total; 0 without `drain`
  double acks = 0;              ///< pure ACKs per s that the receiver sent
  std::vector<double> windows;  ///< bit/s in each window
};

struct MeasuredFlows {
  std::vector<FlowFigures> flows;  ///< in the order of the arguments
  Disturbance machine;
};

/// Runs all flows at the same time. Afterwards nothing is in flight, unless `drain` is off. Call it
/// in a sandbox.
/// @throws RunError when a connection cannot be made or breaks, or a stop was requested.
MeasuredFlows measure_flows(const Network& network, const std::vector<Flow>& flows,
                            const FlowOptions& options);

/// Returns the median RTT of 64-byte datagrams in s, between two hosts without other traffic.
/// @throws RunError when more than half of the datagrams are lost.
double measure_round_trip(const Network& network, const Flow& flow, int count);

}  // namespace thinpipe
