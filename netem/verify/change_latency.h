// Measures the latency of a rate change, from the call until the receiver sees the new rate, and
// the frames lost meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "netem/network.h"
#include "netem/topology/flows.h"

namespace thinpipe {

struct ChangeOptions {
  int changes = 8;          ///< alternating between the link's rate and half of it
  double phase = 0.1;       ///< s between two changes, longer on slow links
  double most_seconds = 4;  ///< for all changes
};

struct ChangeFigures {
  double median = 0, most = 0;  ///< latency in s, of the changes that were seen
  int changes = 0;
  int unseen = 0;                    ///< changes not in effect after half a phase
  std::uint64_t sent = 0, lost = 0;  ///< datagrams
  std::string not_measured;          ///< the reason, if not measured; then all else is 0
};

/// Sends datagrams as fast as the link passes them, while `set_rate` alternates between the link's
/// rate and half of it. A change is seen when the arrival rate changes at the receiver.
/// @throws RunError when a stop was requested.
ChangeFigures measure_changes(const Network& network, const LinkSpec& link, const Flow& flow,
                              const ChangeOptions& options,
                              const std::function<void(double rate)>& set_rate);

/// Measures how long a rate change takes with the throttle that schedules use
/// (netem/schedule/throttle.h). This throttle replaces the shapers on the flow's path, without the
/// link's delay. Afterwards the links must be set again.
ChangeFigures measure_change_latency(const Network& network, const LinkSpec& link, const Flow& flow,
                                     const ChangeOptions& options);

}  // namespace thinpipe
