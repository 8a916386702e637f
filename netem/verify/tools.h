// The same link seen by tools that everybody knows: iperf3 and ping, where they are installed.
#pragma once

#include <optional>
#include <string>

#include "netem/network.h"
#include "netem/topology/flows.h"

namespace thinpipe {

/// A tool's figure, or why there is none.
struct ToolFigure {
  std::string tool;             ///< "iperf3", "ping", "busybox ping"
  std::optional<double> value;  ///< bit/s or s
  std::string trouble;          ///< set where `value` is not
};

/// bit/s of TCP payload that iperf3's receiver counted in `seconds` (whole ones are rounded up),
/// after one that does not count. @throws RunError when a stop was asked for.
ToolFigure iperf3_goodput(const Network& network, const Flow& flow, double seconds);

/// s, median of what ping prints for `count` echoes. Likewise.
ToolFigure ping_round_trip(const Network& network, const Flow& flow, int count, double patience);

/// Their output as they print it, for the two above.
/// @throws RunError when it is not what these tools print.
double goodput_of_iperf3(const std::string& json);
double round_trip_of_ping(const std::string& text);

}  // namespace thinpipe
