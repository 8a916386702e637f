// Does a link deliver what it was set to? The short answer, as calibrations need it: one way, and
// the idle round trip. netem/verify/link_report.h has the long one.
#pragma once

#include <vector>

#include "netem/link_spec.h"
#include "netem/machine_watch.h"
#include "netem/network.h"

namespace thinpipe {

/// One direction of one link, host 0 to host 1 of a network whose links were set to `link`.
struct LinkCheck {
  LinkSpec link;
  double ceiling = 0;         ///< bit/s TCP can deliver at most: LinkSpec::tcp_ceiling()
  double goodput = 0;         ///< bit/s of TCP payload, median of the windows
  double goodput_low = 0;     ///< the slowest window
  double goodput_high = 0;    ///< the fastest window
  double round_trip = 0;      ///< s, median of small UDP datagrams over the idle link
  double round_trip_p95 = 0;  ///< s
  double round_trip_set = 0;  ///< s, of which the link itself is to make so much
  int probes_lost = 0;        ///< datagrams of these that did not come back
  double wire_ratio = 0;      ///< frame bytes the qdisc counted / those the payload needs
  Disturbance machine;        ///< while the stream ran
  /// (goodput - ceiling) / ceiling: negative is slower than the link should be.
  double deviation() const { return goodput / ceiling - 1; }
};

struct VerifyOptions {
  double seconds = 3;   ///< of traffic that is measured
  double settle = 0.5;  ///< s before that: slow start, and the bucket's saved credit; long links
                        ///< get more
  int windows = 6;      ///< the measured time is cut into so many
  int pings = 100;
};

/// Needs a network of at least two hosts inside a sandbox. The link must have a rate. Of a link
/// that loses, doubles or reorders frames the goodput is what TCP makes of it, not what the link
/// is.
LinkCheck verify_link(Network& network, const LinkSpec& link, const VerifyOptions& options = {});

}  // namespace thinpipe
