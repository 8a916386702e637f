// Measures a link with iperf3 and ping, if installed, as independent references.
#pragma once

#include <optional>
#include <string>

#include "netem/network.h"
#include "netem/topology/flows.h"

namespace thinpipe {

/// A tool's result, or the reason for a missing one.
struct ToolFigure {
  std::string tool;             ///< "iperf3", "ping", "busybox ping"
  std::optional<double> value;  ///< bit/s or s
  std::string trouble;          ///< the reason, if `value` is missing
};

/// Returns the TCP goodput in bit/s at iperf3's receiver over `seconds` s (rounded up to whole
/// seconds), after one second that does not count. @throws RunError when a stop was requested.
ToolFigure iperf3_goodput(const Network& network, const Flow& flow, double seconds);

/// Returns ping's median RTT in s of `count` echoes. @throws RunError when a stop was requested.
ToolFigure ping_round_trip(const Network& network, const Flow& flow, int count, double timeout);

/// Parse the tools' output for the two functions above.
/// @throws RunError for unexpected output.
double goodput_of_iperf3(const std::string& json);
double round_trip_of_ping(const std::string& text);

}  // namespace thinpipe
