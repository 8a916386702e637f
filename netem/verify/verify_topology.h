// Checks a topology: measures every distinct link, as far as the hosts can fill it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "netem/network.h"
#include "netem/topology/flows.h"
#include "netem/verify/machine_watch.h"

namespace thinpipe {

/// One direction of a link, and flows that together should fill it.
struct LinkProbe {
  Hop hop;
  std::vector<Flow> flows;  ///< between different hosts if there are enough
  double goodput = 0;       ///< TCP ceiling of all flows together, bit/s of payload
  bool fills = false;       ///< the hosts can send enough to make this link the bottleneck
};

/// Returns a probe for every distinct link setting: of the first host and of the first trunk with
/// this setting, for the uplink and, if its settings differ, for the downlink. Links without a rate
/// and paths that lose or reorder frames have no expected goodput and are left out.
/// @param each_way  probes the downlink even if its settings equal the uplink's
std::vector<LinkProbe> link_probes(const Topology& topology, bool each_way = false);

/// Goodput of a probe's flows together with the reverse flows. Ceilings account for the ACKs of the
/// opposite flows.
struct BidirectionalGoodput {
  double forward = 0, forward_ceiling = 0;  ///< of the probe's flows, bit/s of payload
  double reverse = 0, reverse_ceiling = 0;  ///< of the reverse flows, bit/s of payload
  Disturbance machine;                      ///< during the measurement
  /// One sender in each direction is limited by backpressure, rather than by drops at switches, so
  /// that TCP must reach the ceiling.
  bool backpressure = false;
};

struct ProbeCheck {
  LinkProbe probe;
  std::string link;           ///< name: "rack0-spine"
  std::string spec;           ///< the link's text
  double goodput = 0;         ///< of all flows of the probe together, bit/s of payload
  double round_trip = 0;      ///< median RTT of the first flow without other traffic, s
  double round_trip_set = 0;  ///< RTT by the links' delays, s
  std::optional<BidirectionalGoodput> both;  ///< of uplink probes without loss on the reverse path
  std::string disturbed;                     ///< Disturbance::reason() if invalid, else ""
  /// Returns the relative deviation from the ceiling; negative if too slow.
  double deviation() const { return goodput / probe.goodput - 1; }
};

struct TopologyCheckOptions {
  double seconds = 3;  ///< of measured traffic per probe
  /// s before the measurement; more on long paths. If the bottleneck is a switch's port, slow start
  /// ends in drops, and TCP needs time to recover.
  double settle = 0.5;
  double settle_behind_switch = 2;
  int pings = 20;
  double time_scale = 1;  ///< of the links, see Network::set_links
  bool both = false;      ///< also measures both directions at the same time
  /// Called with the next link and the fraction that is done.
  std::function<void(const std::string& link, double fraction)> progress = {};
};

/// Sets the network's links to `link` (see Network::set_links) and measures each of link_probes().
std::vector<ProbeCheck> verify_topology(Network& network, const LinkSpec& link,
                                        const TopologyCheckOptions& options = {});

}  // namespace thinpipe
