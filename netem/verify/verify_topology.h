// Does a topology deliver what it was set to? Every distinct link is measured, as far as the hosts
// can fill it.
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
  std::vector<Flow> flows;  ///< between different hosts where there are enough
  double goodput = 0;       ///< bit/s of payload that TCP can deliver at most over all flows
  bool fills = false;       ///< the hosts can send so much that this link is what limits them
};

/// A probe for every setting that some link has: of the first host and the first trunk with it, up
/// and, where that differs, down. Links without a rate and paths that lose or reorder frames have
/// no goodput to hold against and are left out.
/// @param each_way  down also where it is set as up is
std::vector<LinkProbe> link_probes(const Topology& topology, bool each_way = false);

/// The probe's flows and the same the other way, at once. Ceilings leave room for the
/// acknowledgements of what goes the other way.
struct BothWays {
  double there = 0, there_ceiling = 0;  ///< bit/s of payload, of the probe's flows
  double back = 0, back_ceiling = 0;    ///< of those the other way
  Disturbance machine;                  ///< meanwhile
  bool held_back = false;  ///< senders are held back, one each way, rather than drops at switches:
                           ///< TCP makes use of all there is
};

struct ProbeCheck {
  LinkProbe probe;
  std::string link;           ///< "rack0-spine"
  std::string spec;           ///< its text
  double goodput = 0;         ///< bit/s of payload, all flows of the probe together
  double round_trip = 0;      ///< s, median between the hosts of the first flow, nothing else sent
  double round_trip_set = 0;  ///< s, of which the links on the way are to make so much
  std::optional<BothWays> both;  ///< of probes upwards, unless frames get lost on the way back
  std::string disturbed;         ///< why it is not valid (Disturbance::reason()); "" when it is
  /// Negative is slower than it should be.
  double deviation() const { return goodput / probe.goodput - 1; }
};

struct TopologyCheckOptions {
  double seconds = 3;  ///< of traffic that is measured, a probe
  /// s before that; long paths get more. Where a switch's port is what limits, slow start ends in
  /// drops, and TCP needs a while to come back.
  double settle = 0.5;
  double settle_behind_switch = 2;
  int pings = 20;
  double time_scale = 1;  ///< of the links, see Network::set_links
  bool both = false;      ///< both ways at once, too
  /// Hears which link is next, and what share of all is over.
  std::function<void(const std::string& link, double share)> progress = {};
};

/// Sets the network's links to `link` (see Network::set_links) and measures each of link_probes().
std::vector<ProbeCheck> verify_topology(Network& network, const LinkSpec& link,
                                        const TopologyCheckOptions& options = {});

}  // namespace thinpipe
