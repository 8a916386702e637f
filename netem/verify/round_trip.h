// How long a datagram takes there and back.
#pragma once

#include "netem/network.h"
#include "netem/topology/flows.h"

namespace thinpipe {

struct RoundTripOptions {
  int count = 100;        ///< at least 2
  double spacing = 2e-3;  ///< s from one probe to the next; answers are not waited for
  double patience = 0.5;  ///< s after the last probe for the last answer
};

struct RoundTrips {
  double median = 0, p95 = 0, most = 0;  ///< s; 0 when none came back
  int sent = 0, lost = 0;                ///< of those that count
};

inline constexpr int kProbePayload = 64;  ///< bytes of a probe

/// From `flow.from` to `flow.to` and back. The first probe, which finds caches cold, does not
/// count.
/// @throws RunError when a stop was asked for; SystemError of the sockets.
RoundTrips measure_round_trips(const Network& network, const Flow& flow,
                               const RoundTripOptions& options);

/// What suits an idle link: probes that take a tenth of its rate at most, for a second or so.
RoundTripOptions idle_probes(const LinkSpec& link, int count);

}  // namespace thinpipe
