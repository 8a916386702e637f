// Measures a link's shaper: the token-bucket depth, which is the bytes that pass unthrottled after
// idling, and the latency of a rate change, from the call until the receiver sees the new rate.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "netem/network.h"
#include "netem/topology/flows.h"

namespace thinpipe {

struct BurstFigures {
  double depth = 0;  ///< bytes that arrived beyond rate times time, median of the trains
  double low = 0, high = 0;
  double expected = 0;       ///< bytes: bucket_depth() of the frames that were sent
  double frame = 0;          ///< bytes charged for such a frame, including overhead
  std::string not_measured;  ///< the reason, if not measured; then all other members are 0
};

/// Measures a link's token-bucket depth. Sends trains of datagrams with more bytes than the
/// buckets. Before each train, the link idles until its buckets are full. Needs a link with a rate
/// that neither loses nor reorders frames.
/// @throws RunError when a stop was requested.
BurstFigures measure_bucket_depth(const Network& network, const LinkSpec& link, const Flow& flow);

inline constexpr int kRateChanges = 8;  ///< most changes of a measurement

struct ChangeFigures {
  double median = 0, most = 0;  ///< latency in s, of the changes that were seen
  int changes = 0;
  int unseen = 0;                    ///< changes not in effect after half a phase
  std::uint64_t sent = 0, lost = 0;  ///< datagrams
  std::string not_measured;          ///< the reason, if not measured; then all else is 0
};

/// Sends datagrams as fast as the link passes them, while `set_rate` alternates between the link's
/// rate and half of it. A change is seen when the arrival rate changes at the receiver.
/// @param changes  most changes, fewer on slow links
/// @throws RunError when a stop was requested.
ChangeFigures measure_changes(const Network& network, const LinkSpec& link, const Flow& flow,
                              int changes, const std::function<void(double rate)>& set_rate);

/// Measures how long a rate change takes with the throttle that schedules use
/// (netem/schedule/throttle.h). This throttle replaces the shapers on the flow's path, without the
/// link's delay. Afterwards the links must be set again.
ChangeFigures measure_change_latency(const Network& network, const LinkSpec& link,
                                     const Flow& flow);

}  // namespace thinpipe
