// Checks a topology: measures every distinct link, as far as the hosts can fill it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "netem/network.h"
#include "netem/topology/flows.h"
#include "netem/verify/machine_watch.h"
#include "netem/verify/measure_flows.h"

namespace thinpipe {

/// One direction of a link, and flows that together should fill it.
struct LinkProbe {
  Hop hop;
  std::vector<Flow> flows;  ///< between different hosts if there are enough
  double goodput = 0;       ///< TCP ceiling of all flows together, bit/s of payload
  bool fills = false;       ///< the hosts can send enough to make this link the bottleneck
};

/// Returns a probe for every distinct link setting, on the first host link and on the first trunk
/// with this setting. Probes the uplink and, if its settings differ, also the downlink. Leaves out
/// links without a rate and paths that lose or reorder frames, because they have no expected
/// goodput.
/// @param each_way  probes the downlink even if its settings equal the uplink's
std::vector<LinkProbe> link_probes(const Topology& topology, bool each_way = false);

/// Returns the names of the distinct links with a rate that link_probes() leaves out.
std::vector<std::string> links_without_probe(const Topology& topology);

/// Returns true if the probe has one flow, which fills the link, and both this flow and its reverse
/// flow are limited_at_sender(). No switch then drops frames, so TCP must reach the ceiling in both
/// directions at the same time.
bool pushes_back(const Topology& topology, const Routes& routes, const LinkProbe& probe);

/// Goodput of a probe's flows and of the reverse flows, measured at the same time. The ceiling of
/// each direction is the TCP maximum minus the capacity that the ACKs of the opposite flows use.
struct BidirectionalGoodput {
  double forward = 0, forward_ceiling = 0;  ///< of the probe's flows, bit/s of payload
  double reverse = 0, reverse_ceiling = 0;  ///< of the reverse flows, bit/s of payload
  Disturbance machine;                      ///< during the measurement
  bool backpressure = false;                ///< pushes_back()
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
  double seconds = 3;  ///< of measured traffic per probe; slow links get more
  /// s of traffic before the measurement begins; long paths and switches' ports get more.
  double settle = 0.5;
  int pings = 20;
  double time_scale = 1;  ///< of the links, see Network::set_links
  bool both = false;      ///< also measures both directions at the same time
  /// Called with the next link and the fraction that is done.
  std::function<void(const std::string& link, double fraction)> progress = {};
};

/// Returns how long the flows of a probe run before and during a measurement.
/// @param both  the reverse flows run at the same time
FlowOptions flow_options(const Topology& topology, const Routes& routes, const LinkProbe& probe,
                         const TopologyCheckOptions& options, bool both);

/// Sets the network's links to `link` (see Network::set_links) and measures each of link_probes().
std::vector<ProbeCheck> verify_topology(Network& network, const LinkSpec& link,
                                        const TopologyCheckOptions& options = {});

}  // namespace thinpipe
