// How long it takes from the call that changes a link's rate until the receiver sees the new rate,
// and whether that costs frames.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "netem/network.h"
#include "netem/topology/flows.h"

namespace thinpipe {

struct ChangeOptions {
  int changes = 8;          ///< between the link's rate and half of it, there and back
  double phase = 0.1;       ///< s from one to the next, longer on slow links
  double most_seconds = 4;  ///< for all of them
};

struct ChangeFigures {
  double median = 0, most = 0;  ///< s, of the changes that were seen
  int changes = 0;
  int unseen = 0;                    ///< after half a phase what arrived was not at the new rate
  std::uint64_t sent = 0, lost = 0;  ///< datagrams
  std::string not_measured;          ///< why not; then all else is 0
};

/// Datagrams cross as fast as they go while `set_rate` is told the link's rate and half of it by
/// turns; where the receiver's arrivals begin to come at the other pace is when the change was
/// seen.
/// @throws RunError when a stop was asked for.
ChangeFigures measure_changes(const Network& network, const LinkSpec& link, const Flow& flow,
                              const ChangeOptions& options,
                              const std::function<void(double rate)>& set_rate);

/// The same by the throttle that schedules use (netem/schedule/throttle.h), put in place of the
/// shapers of both directions on the way; without the link's delay. Afterwards links must be set
/// anew.
ChangeFigures measure_change_latency(const Network& network, const LinkSpec& link, const Flow& flow,
                                     const ChangeOptions& options);

}  // namespace thinpipe
